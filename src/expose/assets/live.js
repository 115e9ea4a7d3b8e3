// Keeps the page live: takes what the exporter renders into the <main> that is there.
//
// It asks for that every few seconds: most often in the window that has the focus, less often in one that is seen without
// it, and now and then in one that is not seen, for its title. Each request says what it has by a tag, and the answer that
// nothing has changed has no body.
//
// The page must never pass off old values as current ones. So whatever keeps it from being renewed - the exporter gone,
// an answer that does not come, a tab that was in the background - is said on top and in the title.
"use strict";

// How often the page is renewed, and after how long without that it is old. Browsers wake hidden tabs once a minute.
const FOCUSED = { every: 2000, late: 6000 };
const SEEN = { every: 4000, late: 10000 };
const HIDDEN = { every: 15000, late: 90000 };
const TICK = 1000;
const PATIENCE = 30000;
// How many leases are named when many change at once.
const NAMED = 4;

const live = document.getElementById("live");
const lost = {
  box: document.getElementById("lost"),
  alert: document.getElementById("trouble"),
  lasting: document.getElementById("lasting"),
};
const held = document.getElementById("held");
const changed = document.getElementById("changed");
const main = document.getElementById("main");

// One clock goes on when the other is set; the other goes on while the machine sleeps.
const instant = () => ({ steady: performance.now(), wall: Date.now() });
const since = (then) => Math.max(performance.now() - then.steady, Date.now() - then.wall);

let renewed = instant();
let asked = null;
let returned = renewed;
// How many answers have come, and the tag of the last one that had a body.
let answers = 0;
let tag = null;
let failed = false;
let pending = null;
let waiting = null;

function pace() {
  if (document.hidden) {
    return HIDDEN;
  }
  return document.hasFocus() ? FOCUSED : SEEN;
}

function selecting() {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed;
}

function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function show() {
  const age = since(renewed);
  const old = age > pace().late || (failed && age > FOCUSED.every);
  // Nobody waited for an answer yet who has only just come back.
  const back = old && !failed && since(returned) < FOCUSED.late;
  const lostNow = old && !back;
  const asOf = main.querySelector(".made time")?.textContent ?? "an earlier time";
  const trouble = failed ? "Connection to the exporter lost" : "No answer from the exporter";
  document.body.classList.toggle("old", lostNow);
  // What is announced changes once; how long it lasts is beside it, where it is not read out again and again.
  say(lost.alert, lostNow ? `${trouble}. What is below was so at ${asOf}, not now.` : "");
  say(lost.lasting, lostNow ? `${Math.round(age / 1000)} s ago` : "");
  lost.box.hidden = !lostNow;
  const why = back ? "This page was in the background" : "Held while text is selected";
  held.hidden = lostNow || !(back || waiting !== null);
  say(held, held.hidden ? "" : `${why}: what is below was so at ${asOf}.`);
  say(live, old ? "Not live" : "Live");
  const title = `${old ? "(not live) " : ""}${(waiting ?? main).dataset.title} · lease-exporter`;
  if (document.title !== title) {
    document.title = title;
  }
}

// What makes a lease the same one, wherever it stands.
const key = (node) => (node.nodeType === 1 && node.matches("li.lease") ? node.querySelector("h2 a")?.href : undefined);

// Makes `old` what `fresh` is, and leaves alone what is the same: so focus, scrolling and what a screen reader is at stay.
function settle(old, fresh) {
  if (old.isEqualNode(fresh)) {
    return;
  }
  if (old.nodeName !== fresh.nodeName || key(old) !== key(fresh)) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== 1) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // What somebody opened stays open.
    if (!fresh.hasAttribute(name) && name !== "open") {
      old.removeAttribute(name);
    }
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
    }
  }
  const known = new Map([...old.children].filter(key).map((child) => [key(child), child]));
  const wanted = [...fresh.childNodes];
  wanted.forEach((child, at) => {
    const there = old.childNodes[at];
    const same = key(child) ? known.get(key(child)) : there && !key(there) ? there : undefined;
    if (same === undefined) {
      old.insertBefore(child, there ?? null);
      return;
    }
    if (same !== there) {
      old.insertBefore(same, there ?? null);
    }
    settle(same, child);
  });
  while (old.childNodes.length > wanted.length) {
    old.lastChild.remove();
  }
}

// The state of each lease that is shown.
function states(shown) {
  const rows = [...shown.querySelectorAll(".lease")];
  return new Map(
    rows.map((row) => {
      const link = row.querySelector("h2 a");
      return [link.href, { name: link.textContent, word: row.querySelector(".state b").textContent }];
    }),
  );
}

let told = states(main);
let titled = main.dataset.title;

// Says which leases changed. One that was on another page before is news only if it needs somebody.
function tell(fresh) {
  const now = states(fresh);
  const news = [...now].filter(([lease, { word }]) => {
    const before = told.get(lease)?.word;
    return before === undefined ? word !== "active" && word !== "idle" : before !== word;
  });
  const said = news.slice(0, NAMED).map(([, { name, word }]) => `${name}: ${word}`);
  if (news.length > NAMED) {
    said.push(`${news.length - NAMED} more`);
  }
  // The title of one lease says nothing else.
  if (titled !== fresh.dataset.title && (said.length === 0 || fresh.querySelector(".tallies") !== null)) {
    said.push(fresh.dataset.title);
  }
  if (said.length > 0) {
    changed.textContent = said.join("; ");
  }
  told = now;
  titled = fresh.dataset.title;
}

const inSight = ({ top, bottom }) => bottom > 0 && top < innerHeight;

function draw(fresh) {
  waiting = null;
  const focused = main.contains(document.activeElement) ? document.activeElement : null;
  const sighted = focused !== null && focused !== main && inSight(focused.getBoundingClientRect());
  settle(main, document.adoptNode(fresh));
  if (focused !== null && focused !== document.activeElement && main.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
  // Who goes by keyboard goes along with a lease that changes its place.
  if (sighted && main.contains(focused) && !inSight(focused.getBoundingClientRect())) {
    focused.scrollIntoView({ block: "center" });
  }
}

function take(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("main");
  if (fresh === null) {
    throw new Error("not the status page");
  }
  tell(fresh);
  if (selecting()) {
    waiting = fresh;
  } else {
    draw(fresh);
  }
}

async function ask() {
  asked = instant();
  pending = new AbortController();
  const limit = setTimeout(() => pending.abort(), PATIENCE);
  const headers = tag === null ? {} : { "If-None-Match": tag };
  try {
    const answer = await fetch(main.dataset.live, { cache: "no-store", headers, signal: pending.signal });
    if (answer.status === 200) {
      take(await answer.text());
      tag = answer.headers.get("ETag");
    } else if (answer.status !== 304) {
      throw new Error(`status ${answer.status}`);
    }
    answers += 1;
    failed = false;
    renewed = instant();
  } catch {
    failed = true;
  } finally {
    clearTimeout(limit);
    pending = null;
  }
  show();
}

function renew() {
  // Timers come a little early or late: a tick that is nearly due is taken.
  if (pending === null && (asked === null || since(asked) > pace().every - TICK / 2)) {
    ask();
  }
  show();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) {
    returned = instant();
  }
  renew();
});
document.addEventListener("selectionchange", () => {
  if (waiting !== null && !selecting()) {
    draw(waiting);
    show();
  }
});
addEventListener("focus", renew);
addEventListener("blur", renew);
addEventListener("pageshow", (event) => {
  if (event.persisted) {
    returned = instant();
    renew();
  }
});
setInterval(renew, TICK);
renew();

// Keeps the page live: takes what the event stream brings into the <main> that is there. Where no stream comes through, it
// fetches the page again and again.
//
// The page must never pass off old values as current ones. So whatever keeps it from being renewed - the exporter gone,
// an answer that does not come, a tab that was in the background - is said on top, and the old values are greyed.
"use strict";

const EVERY = 2000;
const LATE = 6000;
const PATIENCE = 30000;

const live = document.getElementById("live");
const lost = document.getElementById("lost");
const main = document.getElementById("main");
let renewed = Date.now();
let streamed = 0;
let opened = 0;
let failed = false;
let stream = null;
let pending = null;
let waiting = null;

const clock = (time) => new Date(time).toLocaleTimeString([], { hourCycle: "h23" });

function selecting() {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed;
}

function trouble() {
  if (failed) {
    return "Connection to the exporter lost";
  }
  return selecting() ? "Not renewed while text is selected" : "No answer from the exporter";
}

function show() {
  const age = Date.now() - renewed;
  const old = age > LATE || (failed && age > EVERY);
  document.body.classList.toggle("old", old);
  lost.hidden = !old;
  if (old) {
    lost.textContent =
      `${trouble()}, since ${clock(renewed)} (${Math.round(age / 1000)} s). What is below was so then, not now.`;
  }
  const said = old ? "Not live" : "Live";
  if (live.textContent !== said) {
    live.textContent = said;
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
    if (!fresh.hasAttribute(name)) {
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

function take(html) {
  failed = false;
  if (selecting()) {
    waiting = html;
    return;
  }
  waiting = null;
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("main");
  if (fresh === null) {
    throw new Error("not the status page");
  }
  const focused = document.activeElement;
  settle(main, document.adoptNode(fresh));
  if (focused !== document.activeElement && main.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
  const title = `${main.dataset.title} · lease-exporter`;
  if (document.title !== title) {
    document.title = title;
    document.getElementById("changed").textContent = main.dataset.title;
  }
  renewed = Date.now();
  show();
}

function watch() {
  opened = Date.now();
  stream = new EventSource(main.dataset.stream);
  stream.addEventListener("page", (event) => {
    streamed = Date.now();
    take(event.data);
  });
  stream.addEventListener("same", () => {
    streamed = Date.now();
    failed = false;
    if (waiting === null) {
      renewed = streamed;
    }
  });
  stream.addEventListener("error", () => {
    failed = true;
    show();
  });
}

async function fetchAgain() {
  pending = new AbortController();
  const limit = setTimeout(() => pending.abort(), PATIENCE);
  try {
    const answer = await fetch(location.href, { cache: "no-store", signal: pending.signal });
    // A lease that is gone has a page too, which says so.
    if (!answer.ok && answer.status !== 404) {
      throw new Error(`status ${answer.status}`);
    }
    take(await answer.text());
  } catch {
    failed = true;
  } finally {
    clearTimeout(limit);
    pending = null;
  }
}

function renew() {
  if (document.hidden) {
    return;
  }
  const now = Date.now();
  if (stream === null || (stream.readyState === EventSource.CLOSED && now - opened > PATIENCE)) {
    watch();
  } else if (now - Math.max(streamed, opened) > LATE || stream.readyState === EventSource.CLOSED) {
    if (pending === null) {
      fetchAgain();
    }
  }
  show();
}

// Nobody sees a page in the background, and the exporter need not read for it.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.close();
    stream = null;
  }
  renew();
});
document.addEventListener("selectionchange", () => {
  if (waiting !== null && !selecting()) {
    take(waiting);
  }
});
setInterval(renew, EVERY);
setInterval(show, 1000);
renew();

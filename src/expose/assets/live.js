// Keeps the status page live: fetches it again and again and puts the new <main> in place of the old one.
//
// The page must never pass off old values as current ones. So whatever keeps it from being renewed - the exporter gone,
// an answer that does not come, a tab that was in the background - is said on top, and the old values are greyed.
"use strict";

const EVERY = 2000;
const LATE = 6000;
const PATIENCE = 30000;

const live = document.getElementById("live");
const lost = document.getElementById("lost");
let renewed = Date.now();
let failed = false;
let pending = null;

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
  const old = failed || age > LATE;
  document.body.classList.toggle("old", old);
  lost.hidden = !old;
  if (old) {
    lost.textContent =
      `${trouble()}, since ${clock(renewed)} (${Math.round(age / 1000)} s). What is below was so then, not now.`;
  }
  live.textContent = old ? "Not live" : "Live";
}

async function renew() {
  if (document.hidden || pending !== null || selecting()) {
    return;
  }
  pending = new AbortController();
  const limit = setTimeout(() => pending.abort(), PATIENCE);
  try {
    const answer = await fetch(location.pathname, { cache: "no-store", signal: pending.signal });
    if (!answer.ok) {
      throw new Error(`status ${answer.status}`);
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = page.querySelector("main");
    if (main === null) {
      throw new Error("not the status page");
    }
    if (!selecting()) {
      document.querySelector("main").replaceWith(document.adoptNode(main));
      document.title = page.title;
      renewed = Date.now();
    }
    failed = false;
  } catch {
    failed = true;
  } finally {
    clearTimeout(limit);
    pending = null;
    show();
  }
}

document.addEventListener("visibilitychange", () => {
  show();
  renew();
});
setInterval(renew, EVERY);
setInterval(show, 1000);
show();

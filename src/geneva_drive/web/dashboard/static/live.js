// Live pages: after a hint of /api/v1/stream, the page fetches itself again, and regions with
// `data-live` and an id change in place. New rows in `data-rows` wait behind "3 newer, show them".
import { writeTimes } from "./times.js";

const LEAST = 1500; // milliseconds between two fetches
const AFTER = 600; // milliseconds after a hint, because the server caches answers for 500
const ANNOUNCED = 30000; // milliseconds between two announcements to a screen reader
const root = document.body.dataset.root ?? "";
let timer = null;
let isFetching = false;
let isHinted = false; // by a hint that arrived during a fetch, whose answer may be older
let last = 0;
let announced = 0;

export function startLive() {
  if (!document.querySelector("[data-live]") || !window.EventSource) return;
  document.addEventListener("click", (event) => { if (event.target.closest("[data-newer]")) location.reload(); });
  let source = null;
  const open = () => {
    source = new EventSource(`${root}/api/v1/stream`);
    // What changed since the page was made, and before the stream began, gave no hint.
    source.addEventListener("ready", () => { showState(true); plan(); });
    source.addEventListener("hint", (event) => { if (concerns(event)) plan(); });
    source.addEventListener("error", () => showState(false));
  };
  const close = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (!source) open();
  });
  addEventListener("pagehide", close);
  if (!document.hidden) open();
}

// A page may name the hints that concern it: <main data-hints="approvals executions">.
function concerns(event) {
  const wanted = document.querySelector("[data-hints]")?.dataset.hints;
  if (!wanted) return true;
  const changed = JSON.parse(event.data).changed ?? [];
  return changed.some((one) => wanted.split(" ").includes(one));
}

function plan() {
  if (isFetching) isHinted = true;
  if (timer !== null || isFetching) return;
  const jitter = Math.random() * 250;
  timer = setTimeout(fetchAgain, Math.max(AFTER, last + LEAST - Date.now()) + jitter);
}

async function fetchAgain() {
  timer = null;
  isFetching = true;
  isHinted = false;
  let shouldLookAgain = false;
  try {
    const answer = await fetch(location.pathname + location.search, {
      headers: { "X-Live": "1" }, credentials: "same-origin", cache: "no-store",
    });
    if (answer.redirected && new URL(answer.url).pathname.endsWith("/login")) { showEnded(answer.url); return; }
    if (answer.ok) exchange(new DOMParser().parseFromString(await answer.text(), "text/html"));
    shouldLookAgain = answer.headers.has("X-Look-Again");
  } catch {
    showState(false);
  } finally {
    last = Date.now();
    isFetching = false;
    if (shouldLookAgain || isHinted) plan();
  }
}

function exchange(fresh) {
  let isChanged = false;
  for (const region of document.querySelectorAll("[data-live][id]")) {
    const other = fresh.getElementById(region.id);
    if (!other) continue;
    writeTimes(other);
    isChanged = region.matches("[data-rows]") ? exchangeRows(region, other) || isChanged
      : morph(region, other) || isChanged;
  }
  if (isChanged) announce(fresh);
}

function key(node) {
  return node.nodeType === 1 ? node.dataset.key ?? node.id ?? "" : "";
}

// Makes `old` like `fresh`, and does not touch equal parts: focus, selection and scroll stay.
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return false;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || key(old) !== key(fresh)) {
    old.replaceWith(document.importNode(fresh, true));
    return true;
  }
  if (old.nodeType === 3) {
    if (old.data === fresh.data) return false;
    old.data = fresh.data;
    tint(old.parentElement);
    return true;
  }
  // Rows inside a region are a region of their own.
  if (old.nodeType !== 1 || old.matches("[data-keep], [data-rows]")) return false;
  let isChanged = morphAttributes(old, fresh);
  const wanted = [...fresh.childNodes];
  const keys = new Set(wanted.map(key));
  const known = new Map([...old.children].filter(key).map((one) => [key(one), one]));
  wanted.forEach((child, place) => {
    const present = old.childNodes[place];
    const same = key(child) && known.get(key(child));
    if (same && same !== present) { old.insertBefore(same, present ?? null); isChanged = morph(same, child) || isChanged; }
    else if (!present || (key(child) && !same) || (!same && key(present) && keys.has(key(present)))) { old.insertBefore(document.importNode(child, true), present ?? null); isChanged = true; }
    else isChanged = morph(present, child) || isChanged;
  });
  while (old.childNodes.length > wanted.length) { old.lastChild.remove(); isChanged = true; }
  return isChanged;
}

function morphAttributes(old, fresh) {
  let isChanged = false;
  // Only the viewer opens and closes folds.
  for (const { name, value } of [...fresh.attributes].filter(({ name }) => name !== "open")) {
    if (old.getAttribute(name) !== value) { old.setAttribute(name, value); isChanged = true; }
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open" && name !== "class" && name !== "title") {
      old.removeAttribute(name);
      isChanged = true;
    }
  }
  return isChanged;
}

// Rows change in place; new ones are only counted until the viewer asks for them.
function exchangeRows(region, fresh) {
  const before = new Map([...region.children].filter(key).map((row) => [key(row), row]));
  const rows = [...fresh.children].filter(key);
  let newer = 0;
  let isChanged = false;
  for (const row of rows) {
    const present = before.get(key(row));
    if (present) isChanged = exchangeRow(present, row) || isChanged;
    else newer += 1;
  }
  // A row that left the list stays in its place, dimmed. Rows after the last one that is still
  // listed have only moved to the next page.
  const known = new Set(rows.map(key));
  const present = [...before.values()];
  const last = present.findLastIndex((row) => known.has(key(row)));
  present.forEach((row, place) => row.classList.toggle("gone", place < last && !known.has(key(row))));
  showNewer(region, newer);
  return isChanged || newer > 0;
}

function exchangeRow(present, row) {
  const box = present.querySelector("input[type=checkbox]");
  const isChecked = box?.checked;
  const classes = present.className;
  const isChanged = morph(present, row);
  if (classes) present.className = classes;
  const after = present.querySelector("input[type=checkbox]");
  if (after && isChecked !== undefined) after.checked = isChecked;
  return isChanged;
}

function showNewer(region, count) {
  const line = document.querySelector(`[data-newer="${region.id}"]`);
  if (!line) return;
  line.hidden = count === 0;
  const words = `${count} newer, show ${count === 1 ? "it" : "them"}`;
  if (line.textContent !== words) line.textContent = words;
}

function tint(element) {
  if (!element || element.closest("time")) return;
  element.classList.remove("has-changed");
  void element.offsetWidth;
  element.classList.add("has-changed");
  element.addEventListener("animationend", () => element.classList.remove("has-changed"), { once: true });
}

// Updates are silent; at most every 30 s the page's first sentence is read out.
function announce(fresh) {
  const words = fresh.querySelector("[data-announce]")?.textContent.trim();
  const place = document.querySelector("[data-announcer]");
  if (!words || !place || Date.now() - announced < ANNOUNCED) return;
  announced = Date.now();
  if (place.textContent !== words) place.textContent = words;
}

function showState(isLive) {
  for (const state of document.querySelectorAll("[data-live-state]")) {
    state.hidden = false;
    state.classList.toggle("lost", !isLive);
    state.lastElementChild.textContent = isLive ? "Live" : "Not live";
  }
  const strip = document.querySelector("[data-not-live]");
  if (isLive) { strip.hidden = true; return; }
  if (!strip.hidden) return;
  const at = new Date().toTimeString().slice(0, 8);
  strip.querySelector("span").textContent = `Not live since ${at}. Trying again. The page shows what was known then.`;
  strip.hidden = false;
}

function showEnded(address) {
  const strip = document.querySelector("[data-not-live]");
  const link = document.createElement("a");
  link.href = address;
  link.textContent = "Sign in";
  strip.querySelector("span").replaceChildren("Your session ended. ", link, ", and the page is as you left it.");
  strip.hidden = false;
}

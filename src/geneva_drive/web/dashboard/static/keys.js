// Keys: / find, j k rows, x select, Enter open, Esc clear, ? help. Off in fields, and by a switch.
const ROWS = "[data-rows] > *:not([hidden]), a.row";

function isTyping(target) {
  return target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

function rows() {
  return [...document.querySelectorAll(ROWS)].filter((row) => row.offsetParent !== null);
}

function current(all) {
  return all.findIndex((row) => row.classList.contains("at") || row.contains(document.activeElement));
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const from = current(all);
  const to = from < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, from + step));
  for (const row of all) row.classList.toggle("at", row === all[to]);
  (all[to].matches("a") ? all[to] : all[to].querySelector("a"))?.focus();
  all[to].scrollIntoView({ block: "nearest" });
}

function closeMenu() {
  const open = document.querySelector("details.filter-menu[open]");
  open?.removeAttribute("open");
  open?.querySelector("summary").focus();
  return open;
}

function act(event) {
  switch (event.key) {
    case "/": document.querySelector("[data-find]")?.focus(); return true;
    case "j": move(1); return true;
    case "k": move(-1); return true;
    case "x": rows()[current(rows())]?.querySelector("input[type=checkbox]")?.click(); return true;
    case "?": document.getElementById("keys")?.showModal(); return true;
    case "Escape":
      if (closeMenu()) return true;
      document.dispatchEvent(new CustomEvent("geneva:clear"));
      return false;
    default: return false;
  }
}

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && location.hash === "#menu") location.hash = "";
    if (event.key === "Escape" && event.target.matches?.("[data-find]")) event.target.blur();
    if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key !== "Escape" && isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (act(event)) event.preventDefault();
  });
}

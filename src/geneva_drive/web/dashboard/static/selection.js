// Selecting rows of a list: the line above, the bar below, and what each command applies to.
export function startSelection() {
  const form = document.querySelector("form[data-selection]");
  const bar = document.querySelector("[data-bulk-bar]");
  if (!form || !bar) return;
  if (bar.hasAttribute("data-all")) { startAll(bar, form); return; }
  const boxes = () => [...form.querySelectorAll("tbody input[name=id]")];
  const chosen = () => boxes().filter((box) => box.checked);
  const head = form.querySelector("[data-select-all]");

  const show = () => {
    const selected = chosen();
    const rows = selected.map((box) => box.closest("tr"));
    bar.hidden = selected.length === 0;
    head.checked = selected.length > 0 && selected.length === boxes().length;
    head.indeterminate = selected.length > 0 && !head.checked;
    const line = form.querySelector("[data-selected-line]");
    line.hidden = selected.length === 0;
    line.querySelector("span").textContent =
      `${selected.length} on this page ${selected.length === 1 ? "is" : "are"} selected.`;
    bar.querySelector("[data-selected]").textContent = `${selected.length} selected`;
    bar.querySelector("[data-states]").textContent = states(rows);
    for (const button of bar.querySelectorAll("button[name=command]")) {
      const count = rows.filter((row) => row.dataset.commands.split(" ").includes(button.value)).length;
      button.hidden = count === 0;
      button.querySelector("span").textContent = `${button.dataset.words} ${count}\u2026`;
    }
    primary(bar);
  };
  head.addEventListener("change", () => {
    for (const box of boxes()) box.checked = head.checked;
    show();
  });
  form.addEventListener("change", show);
  document.addEventListener("geneva:clear", () => {
    for (const box of chosen()) box.checked = false;
    show();
  });
  bar.querySelector("[data-clear]").addEventListener("click", () => document.dispatchEvent(new CustomEvent("geneva:clear")));
  show();
}

// The address selects all that match; clearing goes back to the list.
function startAll(bar, form) {
  const clear = () => { location.href = form.querySelector(".selected-line a[href]:not([data-more])").href; };
  bar.querySelector("[data-clear]").addEventListener("click", clear);
  document.addEventListener("geneva:clear", clear);
}

function states(rows) {
  const counts = new Map();
  for (const row of rows) counts.set(row.dataset.state, (counts.get(row.dataset.state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}

// One primary button per view: the first that applies.
function primary(bar) {
  const shown = [...bar.querySelectorAll("button[name=command]:not(.danger)")].filter((one) => !one.hidden);
  for (const one of shown) one.classList.toggle("primary", one === shown[0]);
}

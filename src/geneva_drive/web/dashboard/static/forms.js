// Forms: a busy button, one submit, changed fields, and the focus on an answer.
export function startForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    (event.submitter ?? form.querySelector("button"))?.setAttribute("aria-busy", "true");
  });
  // A form on a page from the browser's back-forward cache can be sent again.
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) {
      delete form.dataset.sent;
      form.querySelector("[aria-busy]")?.removeAttribute("aria-busy");
    }
  });
  document.addEventListener("input", (event) => showChange(event.target));
  document.addEventListener("click", (event) => {
    const undo = event.target.closest("[data-undo]");
    if (undo) undoChange(undo.closest(".field"));
  });
  for (const field of document.querySelectorAll("[data-proposed]")) showChange(field);
  const wrong = document.querySelector("[aria-invalid=true]");
  (document.getElementById("answer") ?? wrong ?? document.querySelector("#confirm [data-focus]"))?.focus();
}

function showChange(field) {
  if (field.dataset.proposed === undefined) return;
  const words = field.closest(".field").querySelector(".changed");
  if (words) words.hidden = field.value === field.dataset.proposed;
}

function undoChange(box) {
  const field = box.querySelector("[data-proposed]");
  field.value = field.dataset.proposed;
  showChange(field);
  field.focus();
}

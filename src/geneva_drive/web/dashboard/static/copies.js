// Buttons that copy: data-copy is "#" with the id of the element whose text is copied, or "address".
const SHOWN = 1600; // milliseconds for which the button shows the result

export function startCopies() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (button && !button.dataset.said) copy(button);
  });
}

async function copy(button) {
  const wanted = button.dataset.copy;
  const text = wanted === "address" ? location.href : document.getElementById(wanted.slice(1)).textContent;
  const words = button.querySelector("span");
  const before = words.textContent;
  button.dataset.said = "yes";
  try {
    await navigator.clipboard.writeText(text);
    words.textContent = "Copied";
  } catch {
    words.textContent = "Not allowed here";
  }
  setTimeout(() => { words.textContent = before; delete button.dataset.said; }, SHOWN);
}

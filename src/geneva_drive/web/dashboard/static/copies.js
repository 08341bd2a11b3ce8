// Buttons that copy: <button data-copy="ID"> puts the text of that element on the clipboard.
export function startCopies() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source) return;
    const words = button.querySelector("span");
    const before = words.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent);
      words.textContent = "Copied";
    } catch {
      words.textContent = "Not allowed here";
    }
    setTimeout(() => { words.textContent = before; }, 1600);
  });
}

/* A key of methods becomes buttons: a line stands out or steps back. */
for (const key of document.querySelectorAll("ul.key")) {
  const figure = key.closest("figure");
  for (const entry of key.querySelectorAll("li[data-m]")) {
    const lines = figure.querySelectorAll(`svg.lines .line[data-m="${entry.dataset.m}"]`);
    const button = make("button", { type: "button", "aria-pressed": !entry.classList.contains("faint") });
    button.append(...entry.childNodes);
    entry.append(button);
    button.addEventListener("click", () => {
      const bold = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", bold);
      entry.classList.toggle("faint", !bold);
      for (const line of lines) {
        line.classList.toggle("faint", !bold);
        if (bold) line.parentNode.append(line);
      }
    });
    for (const [event, on] of [["mouseenter", true], ["mouseleave", false], ["focus", true], ["blur", false]]) {
      button.addEventListener(event, () => lines.forEach((line) => line.classList.toggle("over", on)));
    }
  }
}

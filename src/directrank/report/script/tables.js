/* Every heading of a table becomes a button that sorts by it. */
function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (!heading.textContent) return;
    const button = make("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort");
      const numeric = [...table.tBodies[0].rows].some((row) => row.cells[column].dataset.value !== undefined);
      const next = down ? (down === "descending" ? "ascending" : "descending") : numeric ? "descending" : "ascending";
      for (const each of headings) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", next);
      sort(table.tBodies[0], column, numeric, next === "ascending" ? 1 : -1);
    });
  });
}

function sort(body, column, numeric, sign) {
  const key = (row) => {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent;
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    /* Rows without a value come last, whatever the direction. */
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) sortable(table);

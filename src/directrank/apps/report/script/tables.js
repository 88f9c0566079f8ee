/* Tables: headings that sort, and a hint where a table scrolls sideways. */
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
    /* Rows without a value come last in both directions. */
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
  });
  body.append(...rows.map(([, row]) => row));
}

function hint(region) {
  if (!region.isConnected) return watched.unobserve(region);
  const hidden = region.scrollWidth - region.clientWidth;
  region.classList.toggle("cut", hidden - region.scrollLeft > 2);
  region.previousElementSibling.classList.toggle("scrolls", hidden > 2);
}

const watched = new ResizeObserver((entries) => entries.forEach((entry) => hint(entry.target)));
function watch(region) {
  watched.observe(region);
  region.addEventListener("scroll", () => hint(region), { passive: true });
}

/* A cell: its text or node, its value, its class. */
function cell(content, value, style) {
  const given = value === undefined ? {} : { "data-value": value };
  return make("td", style ? { ...given, class: style } : given, content);
}

/* A table with its caption; each row has a method or null, a heading and cells. */
function grid(name, words, head, rows) {
  const table = make("table", { "data-table": name });
  const left = (at) => (rows.length && at && rows[0][2][at - 1].classList.contains("left") ? { class: "left" } : {});
  table.createTHead().append(make("tr", {}, ...head.map((text, at) => make("th", { scope: "col", ...left(at) }, text))));
  const body = table.createTBody();
  for (const [method, heading, cells] of rows) {
    const about = method === null ? {} : { "data-m": method };
    body.append(make("tr", about, make("th", { scope: "row" }, heading), ...cells));
  }
  sortable(table);
  const region = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words }, table);
  watch(region);
  return [make("p", { class: "caption" }, words), region];
}

for (const table of document.querySelectorAll("table.sortable")) sortable(table);
for (const region of document.querySelectorAll(".scroll")) watch(region);

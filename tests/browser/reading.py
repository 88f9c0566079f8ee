"""What is read from a page in the browser, and what its readers do."""

MEASURES = ("AP", "nDCG@1", "nDCG@10", "WPD")
#: Rows of a table that is shown, by its name: a row's heading, then every cell's text and value.
ROWS = """name => [...document.querySelectorAll(`table[data-table="${name}"]`)]
  .filter(table => table.checkVisibility())
  .map(table => ({
    label: table.getAttribute("aria-label"),
    columns: [...table.tHead.rows[0].cells].map(cell => cell.textContent),
    rows: [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => [...row.cells].map(
      cell => ({text: cell.firstChild ? cell.firstChild.textContent : "", value: cell.dataset.value}))),
  }))"""


def choose(page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def open_all(page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")

"""The script of the documentation site that lists a page once among the results of a search."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

TEMPLATE = Path(__file__).parents[2] / "docs" / "templates" / "search.html"
#: Page, title, anchor, description, score, file and kind, as Sphinx returns them: the best is the last.
RESULTS = [
    ["plugins", "Custom measures", "", None, 3, "plugins.md", "text"],
    ["reference/api/evaluate", "evaluate", "", None, 4, "evaluate.md", "title"],
    ["reference/measures", "AP.name", "#directrank.measures.AP.name", "", 6, "measures.md", "object"],
    ["reference/measures", "AP", "#directrank.measures.AP", "", 7, "measures.md", "object"],
    ["reference/api/evaluate", "evaluate", "#directrank.evaluate", "", 8, "evaluate.md", "object"],
    ["plugins", "Custom measures", "#index-0", None, 9, "plugins.md", "index"],
]


def test_a_page_is_listed_once_and_members_of_a_page_each(browser):
    script = TEMPLATE.read_text("utf-8").partition("<script>")[2].partition("</script>")[0]
    page = browser.new_page()
    shown = page.evaluate(
        f"(results) => {{ const Search = {{_performSearch: () => results}}; {script}; "
        "return Search._performSearch() }",
        RESULTS,
    )
    assert shown == RESULTS[2:]

"""Query by query: the script compares any two methods."""

from typing import Any

from directrank.report.blocks import Mount, Section, plain
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Any]:
    """Return the element in which two methods are compared."""
    if len(facts.whole) < 2:
        return []
    return [
        plain(
            "On which queries is one method better than another? Each bar is a query: the difference between "
            "the two methods on it. Below are the queries with the grades of the first ten documents as each "
            "method ranked them."
        ),
        Mount(
            "compare",
            "Comparing two methods query by query needs the script of this page. The values are in "
            "results.json.",
        ),
    ]


SECTION = Section("queries", "Query by query", build)

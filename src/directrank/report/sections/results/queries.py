"""Query by query: the script compares any two methods."""

from markupsafe import Markup

from directrank.report.blocks import note, paragraph
from directrank.report.charts.elements import element
from directrank.report.facts import Facts


def build(facts: Facts) -> list[Markup]:
    """Return the element in which two methods are compared."""
    if len(facts.whole) < 2:
        return []
    return [
        paragraph(
            "On which queries is one method better than another? Each bar is a query: the difference between "
            "the two methods on it. Below are the queries with the grades of the first ten documents as each "
            "method ranked them."
        ),
        element(
            "div",
            {"id": "compare", "class": "mount"},
            note(
                "Comparing two methods query by query needs the script of this page. The values are in "
                "results.json."
            ),
        ),
    ]

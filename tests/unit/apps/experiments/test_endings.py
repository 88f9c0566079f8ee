"""What did not converge is counted, marked and has a remedy."""

import json

from directrank.apps.experiments.results.tables import as_json, latex, markdown, plain_text
from directrank.apps.report.page import render
from pages import changed, invented


def with_endings(**statuses):
    def change(content):
        for cell in content["cells"]:
            status = statuses.get(cell["method"], "converged")
            cell["training"].update(status=status, remedy="raise rounds" if status == "budget" else "")
            for fit in cell["tried"]:
                fit["status"] = status

    return changed(invented(), change)


def test_what_did_not_converge_is_counted_and_marked():
    name = invented().methods[0]
    result = with_endings(**{name: "budget"})
    head, line = result.unfinished_lines()
    n, whole = len(result.folds), len(result.cells) - len(result.failed)
    assert head == f"{n} of {whole} tested models did not converge"
    assert line == f"{name}: budget on {n} of {n} folds: raise rounds"
    table = result.headline("standard")
    for form in (plain_text, markdown, latex):
        assert form(table).count("†") == 2  # the row and the caption
    rows = json.loads(as_json(table))["rows"]
    assert [row["converged"] for row in rows] == [row["method"] != name for row in rows]
    page = render(result)
    assert head in page
    assert line in page
    assert "† Not every model of the method converged" in page

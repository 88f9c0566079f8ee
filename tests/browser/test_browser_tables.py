"""Numbers on the page, and what sorts, filters and compares them."""

import csv
import io
import re

import pytest
from reading import MEASURES, ROWS, choose

pytestmark = pytest.mark.heavy


def test_numbers_on_the_page_are_those_of_the_files(opened, result, text):
    page = opened(text).page
    for convention in result.conventions:
        choose(page, "Convention", convention)
        rows = [
            row for row in csv.DictReader(io.StringIO(result.to_csv(convention))) if row["split"] == "test"
        ]
        for measure in MEASURES:
            choose(page, "Measure", measure)
            exact = {
                (row["method"], row["fold"]): float(row["value"]) for row in rows if row["measure"] == measure
            }
            (table,) = page.evaluate(ROWS, "folds")
            assert (measure in table["label"], convention in table["label"]) == (True, True)
            assert len(table["rows"]) == 9
            for heading, *cells in table["rows"]:
                values = [exact[heading["text"], fold] for fold in result.folds]
                assert [float(cell["value"]) for cell in cells[:3]] == values
                assert [cell["text"] for cell in cells[:3]] == [f"{value:.4f}" for value in values]
                assert float(cells[3]["value"]) == pytest.approx(sum(values) / 3, abs=1e-15)
            (headline,) = page.evaluate(ROWS, "results")
            column = headline["columns"].index(measure)
            for heading, *cells in headline["rows"]:
                mean = sum(exact[heading["text"], fold] for fold in result.folds) / 3
                assert float(cells[column - 1]["value"]) == pytest.approx(mean, abs=1e-15)
                assert cells[column - 1]["text"] == f"{mean:.4f}"


def test_columns_sort_by_mouse_and_by_keyboard(opened, result, text):
    page = opened(text).page

    def order(column: int) -> list[str]:
        (table,) = page.evaluate(ROWS, "results")
        return [row[column]["value"] or row[column]["text"] for row in table["rows"]]

    heading = page.locator("table[data-table=results]:visible thead th").nth(2)
    button = heading.get_by_role("button")
    button.click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = [float(each) for each in order(2)]
    assert values == sorted(values, reverse=True)
    button.focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(each) for each in order(2)] == sorted(values)
    first = page.locator("table[data-table=results]:visible thead th").first
    first.get_by_role("button").click()
    assert order(0) == sorted(result.methods)
    assert page.locator("table[data-table=results]:visible th[aria-sort]").count() == 1


def test_filter_hides_methods_everywhere(opened, text):
    page = opened(text).page
    field = page.get_by_label("Find methods")
    field.focus()
    page.keyboard.type("DOES method 4")
    assert page.locator("#count").text_content() == "1 of 9 methods shown"
    for name in ("results", "folds"):
        (table,) = page.evaluate(ROWS, name)
        assert [row[0]["text"] for row in table["rows"]] == ["method 4"]
    assert page.locator("#folds .dots .row[data-m]:visible").count() == 1
    lines = page.locator("#curves .variant:not([hidden]) polyline:not(.out)")
    assert lines.count() == 1
    field.fill("")
    assert page.locator("#count").text_content() == ""
    assert len(page.evaluate(ROWS, "results")[0]["rows"]) == 9


@pytest.mark.parametrize("measure", ["AP", "WPD"])
def test_two_methods_query_by_query(opened, result, text, measure):
    page = opened(text).page
    choose(page, "Measure", measure)
    choose(page, "Convention", "standard")
    choose(page, "Method A", "2")
    choose(page, "Method B", "5")
    exact = {}
    for fold in result.folds:
        ours, theirs = (result.cell(f"method {place}", fold) for place in (2, 5))
        values = zip(*(cell["per_query"]["standard"][measure] for cell in (ours, theirs)), strict=True)
        exact.update(
            zip(ours["qid"], zip(values, ours["ranked"], theirs["ranked"], strict=True), strict=True)
        )
    sign = -1 if measure == "WPD" else 1
    wins = sum(sign * (a - b) > 1e-12 for (a, b), _, _ in exact.values())
    message = page.locator("#compare .part-said").text_content()
    assert f"method 2 is better than method 5 on {wins} queries, worse on {60 - wins}" in message
    pair = next(
        each
        for each in result.summary["significance"]["standard"]["pairs"][measure]
        if (each["method"], each["baseline"]) == ("method 2", "method 5")
    )
    assert f"{abs(pair['difference']):.4f}" in message
    assert page.locator("#compare svg.deltas rect.plus").count() == wins
    choose(page, "Queries listed", "a")
    while page.locator("button.more").count():
        page.locator("button.more").click()
    (table,) = page.evaluate(ROWS, "queries")
    assert len(table["rows"]) == wins
    for row in table["rows"]:
        (a, b), _, _ = exact[row[0]["text"]]
        assert [row[2]["text"], row[3]["text"]] == [f"{a:.4f}", f"{b:.4f}"]
        assert float(row[1]["text"].replace("−", "-")) == pytest.approx(sign * (a - b), abs=8e-5)
    chips = page.locator("table[data-table=queries] tbody tr").first.locator(".chips").all()
    shown = [[float(chip) for chip in each.locator(".chip").all_text_contents()] for each in chips]
    assert shown == [list(each) for each in exact[table["rows"][0][0]["text"]][1:]]
    why = page.locator("table[data-table=queries] .why").last.text_content()
    assert re.fullmatch(r"[1-9] above \d+: 1\s\+0.25, 2\s−1e-05", why)


def test_first_method_against_every_other(opened, result, text):
    page = opened(text).page
    choose(page, "Method A", "3")
    (table,) = page.evaluate(ROWS, "against")
    pairs = result.summary["significance"]["letor3"]["pairs"]["AP"]
    exact = {}
    for each in pairs:
        if "method 3" in (each["method"], each["baseline"]):
            first = each["method"] == "method 3"
            other = each["baseline"] if first else each["method"]
            counts = (each["wins"], each["losses"]) if first else (each["losses"], each["wins"])
            exact[other] = (each["difference"] if first else -each["difference"], *counts)
    assert len(table["rows"]) == 8
    for row in table["rows"]:
        difference, wins, losses = exact[row[0]["text"]]
        assert float(row[1]["text"].replace("−", "-")) == pytest.approx(difference, abs=6e-5)
        assert [row[3]["text"], row[5]["text"]] == [str(wins), str(losses)]

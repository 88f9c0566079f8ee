"""Tables and the scales of charts."""

import pytest

from directrank.experiments.tables import Table, plain
from directrank.report.charts import Scale, cutoffs_of


def table(errors=(False, True)) -> Table:
    rows = [("a", [0.5, 0.25]), ("bb", [0.50001, 0.125]), ("c", [None, 0.75])]
    return Table("title", "caption", ["AP", "WPD"], rows, errors)


def test_values_that_print_the_same_are_both_best():
    marks = [[table().best(row, column) for column in (0, 1)] for row in range(3)]
    assert marks == [[True, False], [True, True], [False, False]]


def test_one_row_has_no_best():
    assert not Table("", "", ["AP"], [("a", [0.5])], [False]).best(0, 0)


def test_plain_text():
    assert plain(table()) == "\n".join(
        [
            "title",
            "method      AP      WPD",
            "a       0.5000*  0.2500",
            "bb      0.5000*  0.1250*",
            "c       failed   0.7500",
            "(caption; * best)",
        ]
    )


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.31, 0.33], [0.5], [0.4412, 0.4415], [0.0], [1.0, 1.0]])
def test_scale_keeps_values_and_marks_inside(values):
    scale = Scale(values, 4.0, 96.0)
    ticks = scale.ticks()
    assert all(4.0 <= scale.at(value) <= 96.0 for value in values)
    assert 1 <= len(ticks) <= 7
    assert all(4.0 <= tick.at <= 96.0 for tick in ticks)
    for tick in ticks:
        assert scale.at(float(tick.text)) == pytest.approx(tick.at, abs=0.02)


def test_scale_is_linear_and_may_go_downwards():
    scale = Scale([0.2, 0.4], 230.0, 14.0)
    assert scale.at(0.3) == pytest.approx((230.0 + 14.0) / 2, abs=0.01)
    assert scale.at(0.4) < scale.at(0.2)


def test_cutoffs_of_a_measure():
    names = ["nDCG@10", "AP", "P@5", "nDCG", "nDCG@1", "nDCG(dcg='log2')@3"]
    assert cutoffs_of(names) == [(1, "nDCG@1"), (10, "nDCG@10")]

"""Tables and the scales of charts."""

import pytest

from directrank.apps.experiments.results.tables import Table, html, plain_text
from directrank.apps.report.charts import Line, Scale, line_chart


def table(errors=(False, True)) -> Table:
    rows = [("a", [0.5, 0.25]), ("bb", [0.50001, 0.125]), ("c", [None, 0.75])]
    return Table("title", "caption", ["AP", "WPD"], rows, errors)


def test_values_that_print_the_same_are_both_best():
    marks = [[table().best(row, column) for column in (0, 1)] for row in range(3)]
    assert marks == [[True, False], [True, True], [False, False]]


def test_one_row_has_no_best():
    assert not Table("", "", ["AP"], [("a", [0.5])], [False]).best(0, 0)


def test_plain_text():
    assert plain_text(table()) == "\n".join(
        [
            "title",
            "method      AP      WPD",
            "a       0.5000*  0.2500",
            "bb      0.5000*  0.1250*",
            "c       failed   0.7500",
            "(caption; * best)",
        ]
    )


def test_html_of_notebooks_escapes_names_and_marks_the_best():
    rows = [("<script>alert('&')</script>", [0.5, 0.25]), ("c", [None, 0.75])]
    text = html(Table('a "title"', "x < y", ["AP", "WPD"], rows, (False, True)))
    right = '<td style="text-align: right">'
    assert text.splitlines() == [
        "<table>",
        "<caption>a &quot;title&quot;</caption>",
        "<tr><th>method</th><th>AP</th><th>WPD</th></tr>",
        '<tr><th style="text-align: left">&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;</th>'
        f"{right}0.5000</td>{right}<b>0.2500</b></td></tr>",
        f'<tr><th style="text-align: left">c</th>{right}failed</td>{right}0.7500</td></tr>',
        "</table>",
        "<p>x &lt; y</p>",
    ]


@pytest.mark.parametrize("values", [[0.0, 1.0], [0.31, 0.33], [0.5], [0.4412, 0.4415], [0.0], [1.0, 1.0]])
def test_scale_keeps_values_and_marks_inside(values):
    scale = Scale(values, 4.0, 96.0)
    ticks = scale.ticks()
    assert all(4.0 <= scale.at(value) <= 96.0 for value in values)
    assert 1 <= len(ticks) <= 7
    assert all(4.0 <= tick.at <= 96.0 for tick in ticks)
    for tick in ticks:
        assert scale.at(float(tick.text.replace("−", "-"))) == pytest.approx(tick.at, abs=0.02)


def test_scale_is_linear_and_may_go_downwards():
    scale = Scale([0.2, 0.4], 230.0, 14.0)
    assert scale.at(0.3) == pytest.approx((230.0 + 14.0) / 2, abs=0.01)
    assert scale.at(0.4) < scale.at(0.2)


def test_logarithmic_scale_marks_powers_of_ten():
    scale = Scale([0.001, 10.0], 0.0, 100.0, logarithmic=True)
    assert [tick.text for tick in scale.ticks()] == ["0.001", "0.01", "0.1", "1", "10"]
    # A tenth is half way: the second of four steps.
    assert scale.at(0.1) == pytest.approx(50.0, abs=0.01)


def test_lines_escape_what_they_are_called():
    drawing = line_chart("<b>", '"&', [Line("x", [(1.0, 0.5), (2.0, 0.7)], '"><script>')])
    assert "<b>" not in drawing
    assert "<script" not in drawing
    assert drawing.count("<svg") == drawing.count("</svg>") == 2

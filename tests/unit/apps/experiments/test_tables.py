"""Tables and the scales of charts."""

from directrank.apps.experiments.results.tables import Table, html, plain_text


def table(errors=(False, True)) -> Table:
    rows = [("a", [0.5, 0.25]), ("bb", [0.50001, 0.125]), ("c", [None, 0.75])]
    return Table("title", "caption", ["AP", "WPD"], rows, errors)


def test_values_that_print_the_same_are_both_best():
    marks = [[table().best(row, column) for column in (0, 1)] for row in range(3)]
    assert marks == [[True, False], [True, True], [False, False]]


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

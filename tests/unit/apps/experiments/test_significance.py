"""Statistics on values of queries, against scipy and against arithmetic by hand."""

import numpy as np
import pytest
from scipy import stats

import pages
from directrank.apps.experiments import Comparison
from directrank.apps.experiments.results.significance import significance
from directrank.apps.experiments.results.tables import (
    Table,
    latex,
    markdown,
)


def comparison(values: dict[str, list[float]], measure="AP", failed=()) -> Comparison:
    """Return a comparison of one fold with these values of queries."""
    cells = [pages.plain_cell(name, "Fold1", {"standard": {measure: each}}) for name, each in values.items()]
    cells = [pages.failed(cell) if cell["method"] in failed else cell for cell in cells]
    return pages.of_content(pages.plain_results(values, ["Fold1"], cells, [measure]))


RISING = np.linspace(0.1, 0.4, 40)


def test_letters_say_who_is_beaten():
    noise = np.random.default_rng(0).normal(0, 1e-3, 40)
    values = {"worst": RISING, "best": RISING + 0.1 + noise, "alike": RISING + noise}
    found = significance(comparison({name: each.tolist() for name, each in values.items()}), "standard")
    assert found.letters == {"worst": "a", "best": "b", "alike": "c"}
    assert found.better_than["AP"] == {"worst": "", "best": "ac", "alike": ""}
    first = found.pairs["AP"][0]
    assert (first.method, first.baseline, first.queries) == ("worst", "best", 40)
    assert first.difference == pytest.approx(-(0.1 + noise.mean()))
    assert (first.wins, first.ties, first.losses) == (0, 0, 40)
    assert first.p_holm == pytest.approx(3 / 20_001)


def test_the_interval_of_a_mean_over_folds_weighs_folds_alike():
    """6 of 80 queries are in the first fold, the only one with values of 1: the mean over folds is ½.

    A resample with k of them has the mean k / 12, and k is binomial: its quantiles are 2 and 11. A query
    without a value counts in neither fold, and a fold of such queries is none.
    """
    assert stats.binom.ppf([0.025, 0.975], 80, 6 / 80).tolist() == [2, 11]
    values = {"Fold1": [1.0] * 6 + [None], "Fold2": [0.0] * 74, "Fold3": [None] * 3}
    cells = [pages.plain_cell("a", fold, {"standard": {"AP": each}}) for fold, each in values.items()]
    result = pages.of_content(pages.plain_results(["a"], values, cells))
    (interval,) = significance(result, "standard").intervals["AP"].values()
    assert interval == pytest.approx([2 / 12, 11 / 12])


def test_smaller_errors_are_better():
    values = {"large": RISING.tolist(), "small": (RISING - 0.1 + 1e-3 * np.sin(np.arange(40))).tolist()}
    found = significance(comparison(values, "WPD"), "standard")
    assert found.better_than["WPD"] == {"large": "", "small": "a"}
    assert found.pairs["WPD"][0].losses == 40


def hostile() -> Table:
    rows = [("a_b&c|d\n<b>", [0.5, None]), ("50% $x$ {y} ~ ^ \\", [0.25, 0.75])]
    return Table("t_1", "c|2", ["AP", "n#1"], rows, [False, False], ["a", "b"], [["b", ""], ["", "a"]])


def test_latex_is_escaped():
    lines = latex(hostile()).splitlines()
    assert r"\toprule" in lines
    assert (
        r"a\_b\&c\textbar{}d \textless{}b\textgreater{} (a) & \textbf{0.5000}$^{\mathrm{b}}$ & -- \\" in lines
    )
    escaped = r"50\% \$x\$ \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{} (b)"
    assert rf"{escaped} & 0.2500 & 0.7500$^{{\mathrm{{a}}}}$ \\" in lines
    assert r"\label{tab:t-1}" in lines
    assert r"method & AP & n\#1 \\" in lines


def test_markdown_is_escaped():
    lines = markdown(hostile()).splitlines()
    assert lines[4] == r"| a\_b&amp;c\|d &lt;b&gt; (a) | **0.5000** &gt;b | failed |"
    assert lines[2:4] == [r"| method | AP | n\#1 |", "| --- | --: | --: |"]

"""The row "chosen on validation": chosen fold by fold on validation, and never on test."""

import numpy as np

from directrank import make_ranking
from directrank.apps.experiments import compare
from directrank.apps.experiments.results.comparison import chosen_cells
from directrank.apps.experiments.store.records import CHOSEN, Cell, FailedCell
from pages import failed, plain_cell


def cell(method, fold, validation, test):
    values = {"standard": {"test": {"AP": test}, "vali": {"AP": validation}}}
    plain = plain_cell(method, fold, validation=validation, values=values, fit_seconds=2.0)
    return Cell.read(plain)


def test_every_fold_takes_the_method_with_the_highest_validation_value():
    cells = [
        cell("a", "1", 0.4, 0.9), cell("a", "2", 0.6, 0.1),
        cell("b", "1", 0.5, 0.2), cell("b", "2", 0.5, 0.8),
    ]  # fmt: skip
    first, second = chosen_cells(cells, ["1", "2"])
    assert (first.chosen, second.chosen) == ({"method": "b"}, {"method": "a"})
    assert [each.values["standard"]["test"]["AP"] for each in (first, second)] == [0.2, 0.1]
    assert [each.fit_seconds for each in (first, second)] == [4.0, 4.0]
    assert {each.method for each in (first, second)} == {CHOSEN}


def test_of_equal_validation_values_the_first_methods_counts():
    (chosen,) = chosen_cells([cell("b", "1", 0.5, 0.1), cell("a", "1", 0.5, 0.9)], ["1"])
    assert chosen.chosen == {"method": "b"}


def test_a_method_that_failed_on_a_fold_is_not_chosen_there():
    broken = FailedCell.read(failed(plain_cell("b", "1")))
    (chosen,) = chosen_cells([cell("a", "1", 0.1, 0.1), broken, cell("c", "1", 0.2, 0.1)], ["1"])
    assert chosen.chosen == {"method": "c"}
    assert chosen_cells([cell("a", "1", 0.1, 0.1), broken], ["1"]) == []


def test_a_comparison_has_the_row_and_tests_it_like_any_other():
    made = make_ranking(n_queries=24, random_state=3)
    result = compare(made, "regression,listnet", kfold=3, measures=["AP"], audit=False)
    assert result.methods == ["regression", "listnet", CHOSEN]
    for fold in result.folds:
        best = max(("regression", "listnet"), key=lambda each: result.cell(each, fold)["validation"])
        assert result.cell(CHOSEN, fold)["chosen"] == {"method": best}
        assert result.value(CHOSEN, fold, "AP", "standard") == result.value(best, fold, "AP", "standard")
    pairs = result.summary["significance"]["standard"]["pairs"]["AP"]
    assert sum(CHOSEN in (pair["method"], pair["baseline"]) for pair in pairs) == 2
    assert np.isfinite(result.mean(CHOSEN, "AP", "standard"))

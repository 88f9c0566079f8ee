"""The parameters of a method are chosen on validation queries, whatever the training queries prefer."""

import numpy as np
import pytest

from directrank import QueryGroups, compare
from directrank.estimators import Regression, methods
from directrank.estimators.methods import Method


class Reversible(Regression):
    """Ranks as least squares does at ridge 1, and the other way round at ridge 2."""

    def predict(self, X):
        scores = super().predict(X)
        return scores if self.ridge == 1 else -scores


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    reversible = Method("reversible", Reversible, "reverses", "no paper", grid={"ridge": (1.0, 2.0)})
    monkeypatch.setattr(methods, "METHODS", (reversible,))


def part(sign, first):
    """Ten queries of five documents, whose relevance rises or falls with the only feature."""
    feature = np.random.default_rng(first).normal(size=(10, 5))
    relevance = (sign * feature > np.median(sign * feature, axis=1, keepdims=True)).astype(float)
    return QueryGroups(feature.reshape(-1, 1), relevance.ravel(), first + np.repeat(np.arange(10), 5))


@pytest.mark.parametrize(("vali", "ridge", "value"), [(1, 1.0, 1.0), (-1, 2.0, 1.0)])
@pytest.mark.parametrize("test", [1, -1])
def test_validation_decides_where_it_disagrees_with_training(vali, ridge, value, test):
    """Training always prefers ridge 1: relevance rises with the feature there."""
    parts = part(1, 0), part(vali, 100), part(test, 200)
    (cell,) = compare(parts, "reversible", select_by="AP", measures=("AP",)).cells
    assert cell["chosen"] == {"ridge": ridge}
    assert cell["validation"] == value
    assert (cell["values"]["standard"]["test"]["AP"] == 1.0) == (test == vali)


@pytest.mark.parametrize("vali", [1, -1])
def test_the_validation_value_of_each_point_is_that_of_validation(vali):
    (cell,) = compare((part(1, 0), part(vali, 100), part(1, 200)), "reversible", select_by="AP").cells
    values = {each["parameters"]["ridge"]: each["validation"] for each in cell["tried"]}
    assert (values[1.0] == 1.0) == (vali == 1)
    assert (values[2.0] == 1.0) == (vali == -1)

"""Losses on pairs on LETOR 3.0's OHSUMED: what is reachable, in LETOR's convention."""

import numpy as np
import pytest

from directrank.estimators.methods import configured
from directrank.files import find_folds
from directrank.measures import evaluate

# The first group has test_methods_ohsumed.py.
pytestmark = [pytest.mark.golden, pytest.mark.heavy]

SHOWN = ["AP", "nDCG@10", "nDCG"]


@pytest.fixture(scope="module")
def folds(ohsumed):
    return [fold.load() for fold in find_folds(ohsumed)]


def on_test(folds, name, penalties):
    """Means over the five test parts; AP on validation chooses the penalty."""
    table = []
    for train, vali, test in folds:
        fitted = [
            configured(name)[0].build({"penalty": penalty}).fit(train, eval_set=vali) for penalty in penalties
        ]
        values = [evaluate(vali, each.predict(vali), measures="AP")["AP"] for each in fitted]
        best = fitted[int(np.argmax(values))]
        result = evaluate(test, best.predict(test), measures=SHOWN, convention="letor3")
        table.append([result[measure] for measure in SHOWN])
    return np.mean(table, axis=0)


# Parts of the methods' grids, to be quick.
@pytest.mark.parametrize(
    ("name", "penalties", "least"),
    [
        ("ranksvm", (0.3, 0.1, 0.03), (0.4470, 0.4500, 0.664)),
        ("preorder-norm-dcg", (0.3, 0.1, 0.03), (0.4470, 0.4480, 0.664)),
        ("consistent-ndcg", (0.3, 0.1, 0.03), (0.4465, 0.4480, 0.664)),
        ("consistent-norm-dcg", (0.1, 0.03, 0.01), (0.4465, 0.4480, 0.664)),
        ("lambdaloss", (0.03, 0.01), (0.4480, 0.4480, 0.664)),
        ("lambdarank", (0.03, 0.01), (0.4430, 0.4400, 0.655)),
        ("ranknet", (0.1, 0.03, 0.01), (0.4450, 0.4440, 0.660)),
    ],
)
def test_reaches(folds, name, penalties, least):
    assert (on_test(folds, name, penalties) >= least).all()

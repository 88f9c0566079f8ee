"""Every estimator, made quick, and rows to try it on; shared by the tests of estimators."""

import numpy as np
import pytest

from directrank.estimators import Ranker, RankSVM
from directrank.estimators.methods import METHODS
from directrank.measures import NDCG
from directrank.models.scorer_kinds import take_apart
from directrank.solvers import LBFGS
from directrank.surrogates import SmoothedPositions
from groups import first_group, in_turn

#: Ensembles are tested in tests/unit/apps/auto: they have no surrogate, and `predict` needs the queries.
CLASSES = tuple(dict.fromkeys(each.estimator for each in METHODS if not each.estimator.is_ensemble))

#: Parameters that keep a class quick here; the defaults serve a class that is not named.
#: Some of scikit-learn's checks make every document relevant; those measures still tell them apart.
QUICK = {
    "ApproxRank": {"max_iterations": 20},
    "AdaRank": {"rounds": 10},
    "CoordinateAscent": {"measure": "nDCG", "cycles": 2, "runs": 2},
    "StructuralSVM": {"measure": "WPD", "max_passes": 20},
    "StructuralPerceptron": {"measure": "WPD", "max_passes": 5},
    "TreeRanker": {"rounds": 5, "leaves": 3},
    "PermuRank": {"measure": "nDCG", "rounds": 5},
    "PLRank": {"rounds": 5, "samples": 8},
    "YetiLoss": {"rounds": 5},
}


def quick(cls, **parameters):
    wanted = {**QUICK.get(cls.__name__, {}), "n_jobs": 1, **parameters}
    return cls(**{name: value for name, value in wanted.items() if name in cls().get_params()})


def estimators():
    composed = Ranker(SmoothedPositions(NDCG(10)), LBFGS(max_iterations=20), n_jobs=1)
    return [*(quick(cls) for cls in CLASSES), composed]


#: One estimator of each kind of model and of parameters, for properties that all have from one `fit`.
REPRESENTATIVES = ("Regression", "AdaRank", "TreeRanker", "Ranker")
representatives = pytest.mark.parametrize(
    "estimator",
    first_group(estimators(), lambda each: type(each).__name__ in REPRESENTATIVES),
    ids=lambda each: type(each).__name__,
)


def in_families(cases):
    """Divide cases into those of one representative each, and three of all others."""
    names = [case.__name__ if isinstance(case, type) else type(case).__name__ for case in cases]
    others = [case for case, name in zip(cases, names, strict=True) if name not in REPRESENTATIVES]
    alone = [[case] for case, name in zip(cases, names, strict=True) if name in REPRESENTATIVES]
    return [*alone, *(others[i::3] for i in range(3))]


#: Representatives have every property in the first group, and of all others three: each test has other three.
every = in_turn("estimator", in_families(estimators()), ids=lambda each: type(each).__name__)
#: For what all estimators have from one function that reads their inputs.
one = pytest.mark.parametrize("estimator", [quick(RankSVM)], ids=["RankSVM"])


def rows(n_queries=12, n_docs=10, n_features=3, seed=0):
    """X, y, qid; queries of different length in mixed row order."""
    rng = np.random.default_rng(seed)
    sizes = n_docs + np.arange(n_queries) % 3
    X = np.round(rng.normal(size=(sizes.sum(), n_features)), 3)
    y = np.digitize(X @ np.linspace(1.0, 0.2, n_features) + 0.5 * rng.normal(size=len(X)), [0.5, 1.5])
    return X, y.astype(float), np.repeat([f"q{i}" for i in range(n_queries)], sizes)


def bits(ranker):
    return b"".join(tensor.tobytes() for tensor in take_apart(ranker.scorer_)[1].values())

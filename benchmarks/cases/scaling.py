"""Fitting and applying the scaling of features; half of them are log-normal."""

from functools import cache, partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.read_pass import read_pass
from directrank.data import QueryGroups
from directrank.scorers import Linear
from directrank.scorers.scaling import fit_scaling

# More than a cache holds: 65 MB.
N_DOCS, N_FEATURES = 120_000, 136
KINDS = ("standard", "log", "query")


@cache
def documents() -> QueryGroups:
    """Return queries of 120 documents."""
    X = np.random.default_rng(0).standard_normal((N_DOCS, N_FEATURES), dtype=np.float32)
    X[:, ::2] = np.exp(2 * X[:, ::2])
    return QueryGroups(X, np.zeros(len(X)), np.arange(len(X)) // 120)


def passing() -> None:
    """Read all features once."""
    read_pass(documents().features.reshape(-1))


def fitting(kind: str) -> tuple[Work, Work]:
    """Return fitting a scaling, and a read pass."""
    groups = documents()
    return lambda: fit_scaling(kind, groups), passing


def applying(kind: str) -> tuple[Work, Work]:
    """Return scaling all features, and a read pass."""
    groups = documents()
    scaling = fit_scaling(kind, groups)
    return lambda: scaling.of(groups), passing


def applying_in_place(kind: str) -> tuple[Work, Work]:
    """Return scaling features that training has read itself, and a read pass."""
    groups = documents()
    scaling, own = fit_scaling(kind, groups), QueryGroups(groups.X.copy(), groups.relevance, groups.qid)
    return lambda: scaling.of(own, in_place=True), passing


def scoring(kind: str) -> tuple[Work, Work]:
    """Return the scores of raw features by a model that was trained on scaled ones, and a read pass."""
    groups = documents()
    scorer = fit_scaling(kind, groups).scorer(Linear(np.ones(N_FEATURES)))
    queries = (groups.queries.indptr,) if kind == "query" else ()
    return lambda: scorer.scores(groups.features, *queries), passing


def against_sklearn(step: str) -> tuple[Work, Work]:
    """Return fitting or applying the standard scaling, ours and scikit-learn's."""
    from sklearn.preprocessing import StandardScaler

    groups = documents()
    theirs, scaling = StandardScaler().fit(groups.X), fit_scaling("standard", groups)
    if step == "fit":
        return lambda: fit_scaling("standard", groups), lambda: theirs.fit(groups.X)
    return lambda: scaling.of(groups), lambda: theirs.transform(groups.X)


WORDS = {"fit": "fitting", "apply": "applying", "score": "scoring raw features with"}
STEPS = {"fit": fitting, "apply": applying, "score": scoring}
CASES = (
    *(
        Case(
            f"scaling/{step}-{kind}",
            f"{WORDS[step]} the scaling `{kind}`",
            "a read pass",
            partial(prepare, kind),
        )
        for step, prepare in STEPS.items()
        for kind in KINDS
    ),
    *(
        Case(
            f"scaling/apply-{kind}-in-place",
            f"applying the scaling `{kind}` in place, as `fit` does to what it has read",
            "a read pass",
            partial(applying_in_place, kind),
        )
        for kind in ("standard", "log")
    ),
    *(
        Case(
            f"scaling/{step}-sklearn",
            f"{WORDS[step]} the scaling `standard`",
            "scikit-learn's StandardScaler",
            partial(against_sklearn, step),
            faster=True,
        )
        for step in ("fit", "apply")
    ),
)

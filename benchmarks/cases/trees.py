"""Trees that are grown here beside LightGBM's, from arrays in memory, with the bins, one thread.

The yardsticks are LightGBM's own lambdarank, truncated at 30 as ours, and LightGBM growing under our
objective.
"""

from functools import cache, partial

import numpy as np

from benchmarks.case import Case, Work
from directrank import QueryGroups, TreeRanker

ROUNDS, DOCUMENTS_A_QUERY, N_FEATURES = 100, 100, 136
#: As LightGBM's default, in documents.
LEAST_DOCUMENTS = 20


@cache
def documents(n_docs: int) -> QueryGroups:
    """Return queries whose grades depend on a product of features; some features are mostly zeros."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_docs, N_FEATURES), dtype=np.float32)
    X[:, ::3] = np.exp(X[:, ::3]).round(1)
    X[:, 1::5][rng.random((n_docs, len(range(1, N_FEATURES, 5)))) < 0.6] = 0.0
    utility = X[:, 0] * X[:, 1] + X[:, 3] + rng.standard_normal(n_docs, dtype=np.float32)
    grades = np.digitize(utility, [0.8, 1.8, 3.0, 5.0]).astype(float)
    return QueryGroups(X, grades, np.arange(n_docs) // DOCUMENTS_A_QUERY)


def grown(groups: QueryGroups, leaves: int, n_jobs: int = 1) -> Work:
    """Return a fit under our objective."""
    ranker = TreeRanker(
        "lambdarank", leaves=leaves, rounds=ROUNDS, keep="last", n_jobs=n_jobs,
        leaf_share=LEAST_DOCUMENTS / groups.n_docs, penalty=0.0,
    )  # fmt: skip
    return lambda: ranker.fit(groups)


def of_lightgbm(groups: QueryGroups, leaves: int, objective: object, rounds: int = ROUNDS) -> Work:
    """Return a fit of LightGBM under its own lambdarank, or under our objective."""
    import lightgbm

    given = {
        "objective": objective, "num_leaves": leaves, "num_threads": 1, "verbose": -1,
        "min_data_in_leaf": LEAST_DOCUMENTS,
    }  # fmt: skip

    def fit() -> object:
        data = lightgbm.Dataset(
            groups.features, groups.queries.relevance, group=groups.queries.sizes, params={"verbose": -1}
        )
        return lightgbm.train(given, data, rounds)

    return fit


def fits(n_docs: int, leaves: int, yardstick: str) -> tuple[Work, Work]:
    """Return the fits."""
    from directrank.lightgbm import objective

    groups, loss = documents(n_docs), TreeRanker("lambdarank").components()[0]
    theirs = "lambdarank" if yardstick == "own" else objective(loss, n_jobs=1)
    return grown(groups, leaves), of_lightgbm(groups, leaves, theirs)


WORDS = {"own": "LightGBM's own lambdarank", "objective": "LightGBM growing under our objective"}
CASES = tuple(
    Case(
        f"trees/lambdarank-{leaves}-{yardstick}",
        f"`trees-lambdarank`, {ROUNDS} trees of {leaves} leaves on {n_docs:,} × {N_FEATURES}, one thread",
        f"{words}, one thread",
        partial(fits, n_docs, leaves, yardstick),
        target=0.8,
    )
    for n_docs, leaves in ((100_000, 31), (100_000, 255))
    for yardstick, words in WORDS.items()
)

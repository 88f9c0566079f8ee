"""How the time of whole fits grows: ten times as many documents, in long and in wide form, one thread."""

from functools import lru_cache, partial

import numpy as np

from benchmarks.case import Case, Work
from directrank import QueryGroups
from directrank.apps.cli.commands.listing import TO_BEGIN_WITH
from directrank.estimators.methods import configured

#: Documents and features of the smaller fit of a case; the other has ten times the documents.
SHAPES = {
    "10k": (1_000, 136),
    "100k": (10_000, 136),
    "1m": (100_000, 136),
    "wide-10k": (1_000, 1_000),
}
#: Rounds of trees, which would otherwise stop where a validation set says so.
PARAMETERS = {"trees-consistent-ndcg": {"rounds": 20, "keep": "last"}}
DOCUMENTS_A_QUERY = 100


@lru_cache(maxsize=2)
def documents(n_docs: int, n_features: int) -> QueryGroups:
    """Return queries of a hundred documents, whose grades depend on a linear function, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_docs, n_features), dtype=np.float32)
    utility = X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n_docs, dtype=np.float32)
    grades = np.digitize(utility, [0.8, 1.8, 3.0]).astype(float)
    return QueryGroups(X, grades, np.arange(n_docs) // DOCUMENTS_A_QUERY)


def fits(method: str, n_docs: int, n_features: int) -> tuple[Work, Work]:
    """Return fits on ten times so many documents, and on so many."""
    ranker = configured(method)[0].build(PARAMETERS.get(method, {})).set_params(n_jobs=1)

    def fit(n: int) -> object:
        return ranker.fit(documents(n, n_features))

    return partial(fit, 10 * n_docs), partial(fit, n_docs)


CASES = tuple(
    Case(
        f"growth/{method}-{shape}",
        f"`{method}` on {10 * n_docs:,} documents of {n_features:,} features",
        f"on {n_docs:,}",
        partial(fits, method, n_docs, n_features),
    )
    for shape, (n_docs, n_features) in SHAPES.items()
    for method in TO_BEGIN_WITH
)

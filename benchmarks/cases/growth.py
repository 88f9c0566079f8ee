"""How the time of whole fits grows: ten times as many documents, in long and in wide form, one thread.

A fit is timed once, or up to five times if that takes less than some seconds. None is begun that would take
over half an hour if its time were ten times that of a tenth of the documents.
"""

import time
from functools import cache, lru_cache, partial

import numpy as np

from benchmarks.case import Case, Figure, NotMeasuredError, Work
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
#: Up to so many documents a fit comes before those that are timed: it compiles. Most kernels are compiled
#: again for several shards.
DOCUMENTS_A_QUERY, FEWEST_DOCUMENTS, COMPILED = 100, 1_000, 10_000
#: Processor seconds: the longest fit that is begun, and how long short fits are repeated.
LONGEST, REPEATED = 1800.0, 3.0
MOST_REPETITIONS = 5


@lru_cache(maxsize=1)
def documents(n_docs: int, n_features: int, docs_a_query: int = DOCUMENTS_A_QUERY) -> QueryGroups:
    """Return queries of so many documents, whose grades depend on a linear function, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_docs, n_features), dtype=np.float32)
    utility = X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n_docs, dtype=np.float32)
    grades = np.digitize(utility, [0.8, 1.8, 3.0]).astype(float)
    return QueryGroups(X, grades, np.arange(n_docs) // docs_a_query)


@cache
def seconds(method: str, n_docs: int, n_features: int) -> Figure:
    """Return the least processor seconds of a fit; raise `NotMeasuredError` if it would take too long."""
    if n_docs > FEWEST_DOCUMENTS:
        expected = 10 * seconds(method, n_docs // 10, n_features)
        if expected > LONGEST:
            raise NotMeasuredError(f"about {expected / 60:.0f} minutes, by a tenth of the documents")
    groups = documents(n_docs, n_features)
    ranker = configured(method)[0].build(PARAMETERS.get(method, {})).set_params(n_jobs=1)
    if n_docs <= COMPILED:
        ranker.fit(groups)
    times: list[float] = []
    while len(times) < MOST_REPETITIONS and sum(times) < REPEATED:
        started = time.process_time()
        ranker.fit(groups)
        times.append(time.process_time() - started)
    return Figure(min(times))


def fits(method: str, n_docs: int, n_features: int) -> tuple[Work, Work]:
    """Return the times of fits on ten times so many documents, and on so many."""
    larger = seconds(method, 10 * n_docs, n_features)
    smaller = seconds(method, n_docs, n_features)
    return lambda: larger, lambda: smaller


CASES = tuple(
    Case(
        f"growth/{method}/{shape}",
        f"`{method}` on {10 * n_docs:,} documents of {n_features:,} features",
        f"on {n_docs:,}",
        partial(fits, method, n_docs, n_features),
    )
    for shape, (n_docs, n_features) in SHAPES.items()
    for method in TO_BEGIN_WITH
)

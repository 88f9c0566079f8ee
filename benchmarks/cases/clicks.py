"""Logs of clicks: counting rows, propensities, and gradients of weighted queries."""

from functools import cache, partial

import numpy as np
import pyarrow as pa

from benchmarks.case import Case, Work
from benchmarks.kernels.gradient import same_length_queries
from directrank import make_ranking
from directrank.apps.clicks import baseline_propensities, estimate_propensities, make_clicks, read_clicks
from directrank.features.shards import make_shards
from directrank.measures import NDCG
from directrank.surrogates import Objective, SmoothedPositions

ROWS, QUERIES, RANKS = 10_000_000, 20_000, 10


@cache
def table() -> pa.Table:
    """Return rows of a log in which the documents of a page are shown in one of two orders."""
    rng = np.random.default_rng(0)
    page = np.repeat(rng.integers(0, QUERIES, ROWS // RANKS), RANKS)
    position = np.tile(np.arange(1, RANKS + 1), ROWS // RANKS)
    document = np.where(np.repeat(rng.random(ROWS // RANKS) < 0.5, RANKS), position, RANKS + 1 - position)
    names = [pa.array([f"{kind}{n}" for n in range(QUERIES)]) for kind in ("q", "d")]
    return pa.table(
        {
            "qid": names[0].take(pa.array(page)), "docid": names[1].take(pa.array(document)),
            "position": position, "clicked": (rng.random(ROWS) < 0.3 / position).astype(np.int8),
        }
    )  # fmt: skip


def counting() -> tuple[Work, Work]:
    """Return the reading of a log, and one grouping of its rows by Arrow."""
    rows = table()
    return (
        lambda: read_clicks(rows),
        lambda: rows.group_by(["qid", "docid", "position"]).aggregate([("clicked", "sum")]),
    )


def propensities() -> tuple[Work, Work]:
    """Return our estimate with its errors, and AllPairs with the paper's weights, which has none."""
    groups = make_ranking(2000, 20, uneven=0, random_state=0)
    shown = {"a": groups.X[:, 0], "b": groups.X[:, 1]}
    log = make_clicks(groups, shown, sessions=1_400_000, traffic=1.0, random_state=0)
    return (
        lambda: estimate_propensities(log),
        lambda: baseline_propensities(log, "AllPairs, items weigh 1"),
    )


def weighted() -> tuple[Work, Work]:
    """Return a gradient by scores with a weight per query, and without."""
    rng = np.random.default_rng(0)
    queries = same_length_queries(20_000, 50, rng)
    scores, shards = rng.normal(size=queries.n_docs), make_shards(queries.indptr, 100)
    bound = partial(Objective, SmoothedPositions(NDCG(10)), queries, shards)
    plain, ours = bound(), bound(weights=rng.random(queries.n_queries) + 0.5)
    return lambda: ours.value_and_gradient(scores), lambda: plain.value_and_gradient(scores)


CASES = (
    Case(
        "clicks/counting",
        "counting 10⁷ rows of a log by query, document and rank",
        "one grouping of the rows by Arrow",
        counting,
        clock="elapsed",
    ),
    Case(
        "clicks/propensities",
        "propensities from 10⁶ clicks with errors and a test",
        "AllPairs without errors",
        propensities,
    ),
    Case(
        "clicks/weights",
        "gradient of ApproxNDCG with a weight for each query, 10⁶ documents, one thread",
        "the same without weights",
        weighted,
        target=1.1,
    ),
)

"""Losses, evaluation and training of packages that run in environments of their own, at equal work."""

from functools import partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.environments.worker import Worker
from directrank import evaluate, make_ranking
from directrank.data.grouping import group_rows
from directrank.estimators import CoordinateAscent
from directrank.features.shards import make_shards
from directrank.measures import AP, NDCG, mean_values
from directrank.surrogates import Objective, SmoothedPositions

SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]
STEEPNESS, N_FEATURES = 10.0, 136


def lists(n_queries: int, n_docs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return grades as in MSLR-WEB30K, and scores that go along with them, a query a row."""
    rng = np.random.default_rng(0)
    relevance = rng.choice(len(SHARES), (n_queries, n_docs), p=SHARES).astype(np.float32)
    relevance[:, 0] = 1.0  # packages differ on queries without relevance
    scores = rng.normal(size=relevance.shape) + 0.5 * relevance
    return relevance, (scores / 5.0).astype(np.float32)


def grouped(relevance: np.ndarray):
    """Return queries, and the order of documents inside."""
    return group_rows(
        relevance.ravel().astype(float), np.repeat(np.arange(len(relevance)), relevance.shape[1])
    )


def approx_ndcg(environment: str) -> tuple[Work, Work]:
    """Return value and gradient of ApproxNDCG by scores; those of another package must be ours."""
    relevance, scores = lists(1000, 120)
    queries, order = grouped(relevance)
    surrogate = SmoothedPositions(NDCG(), steepness=STEEPNESS)
    objective = Objective(surrogate, queries, make_shards(queries.indptr, N_FEATURES), normalise=False)
    objective.dtype = np.float32
    inner = scores.ravel()[order]
    arrays = {"relevance": relevance, "scores": scores, "steepness": np.array(STEEPNESS)}
    worker = Worker(environment, arrays)
    _, gradient = objective.value_and_gradient(inner)
    expected = float(np.abs(gradient).sum())
    if not np.isclose(worker.found["gradient"], expected, rtol=0.02):
        raise ValueError(f"the gradients differ: {worker.found}, ours sums to {expected}")
    return lambda: objective.value_and_gradient(inner), worker


def evaluation() -> tuple[Work, Work]:
    """Return the evaluation of ready arrays, and of ranx's own data structures."""
    relevance, scores = lists(5000, 100)
    queries, order = grouped(relevance)
    inner = scores.ravel()[order].astype(np.float64)
    measures = [AP(), NDCG(10)]
    worker = Worker("ranx", {"relevance": relevance, "scores": scores})
    own = mean_values(measures, queries, inner, n_threads=1)
    if not np.allclose(own, [worker.found["AP"], worker.found["nDCG@10"]], atol=1e-5):
        raise ValueError(f"the values differ: {worker.found}, ours {own}")
    return lambda: mean_values(measures, queries, inner, n_threads=1), worker


def coordinate_ascent() -> tuple[Work, Work]:
    """Return fits by one start each; ours must be as good by the measure on the training data."""
    groups = make_ranking(100, 40, 15, random_state=0)
    ranker = CoordinateAscent("nDCG", n_jobs=1)
    arrays = {
        "X": groups.X, "relevance": groups.relevance, "qid": np.asarray(groups.qid, np.int64),
        "measure": np.array("ndcg"), "restarts": np.array(1),
    }  # fmt: skip
    worker = Worker("fastrank", arrays)
    values = [
        evaluate(groups, np.asarray(scores), measures="nDCG")["nDCG"]
        for scores in (ranker.fit(groups).predict(groups), worker.found["scores"])
    ]
    if values[0] < values[1] - 0.001:
        raise ValueError(f"ours reaches nDCG {values[0]:.4f}, fastrank's {values[1]:.4f}")
    return lambda: ranker.fit(groups), worker


LOSSES = {
    "tensorflow-ranking": ("TF-Ranking's, as a graph", 8.0),
    "rax": ("Rax's, compiled by JAX", 15.0),
    "allrank": ("allRank's, by PyTorch", 60.0),
}
CASES = (
    *(
        Case(
            f"libraries/approxndcg-{name}",
            "ApproxNDCG, value and gradient by scores, 1,000 queries of 120 documents, one thread",
            f"{words}, one thread",
            partial(approx_ndcg, name),
            faster=True,
            target=limit,
        )
        for name, (words, limit) in LOSSES.items()
    ),
    Case(
        "libraries/evaluation-ranx",
        "AP and nDCG@10 of 5,000 queries of 100 documents, ready arrays, one thread",
        "ranx on its own prepared data structures, one thread",
        evaluation,
        faster=True,
        target=40.0,
    ),
    Case(
        "libraries/coordinate-ascent-fastrank",
        "coordinate ascent by nDCG, one start, 100 queries of 40 documents and 15 features",
        "fastrank's with its defaults, one start, of no better nDCG on the same data",
        coordinate_ascent,
        faster=True,
    ),
)

"""The gradient of training, in units of one read pass over the features.

    python benchmarks/kernels/gradient.py [--queries 16000] [--docs 120] [--features 136]

The default is half the size of MSLR-WEB30K and takes 1.1 GB of memory. There are at most 64 shards; each
costs a few microseconds, which is a twentieth of a pass at 4,000 queries. Everything runs in one process on
one thread, in float32, as training on more than one shard does. Each figure is the least processor time of
repeated runs; the candidates take turns in every round. Another busy process takes its share of the caches
and makes the ratios look worse. Unless a row says otherwise, 48 % of the documents are relevant.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from directrank.contracts import GradientKernel, Surrogate, ValueAndGradient
from directrank.data.queries import Queries
from directrank.features.shards import make_shards
from directrank.kernels.aligned import aligned_zeros
from directrank.kernels.compile import kernel
from directrank.kernels.plugins import query_gradient, register_kernel
from directrank.measures import AP, NDCG
from directrank.scorers import Linear
from directrank.solvers.passes import value_and_gradient
from directrank.surrogates import Objective, SmoothedPositions

GRADES = [0.52, 0.20, 0.14, 0.08, 0.06]  # shares of grades, 48 % relevant, as in MSLR-WEB30K
FEW_RELEVANT = [0.85, 0.05, 0.05, 0.03, 0.02]
TARGETS = {
    "scores → Xᵀg, streamed": 1.6,
    "ApproxNDCG gradient": 3.5,
    "ApproxAP gradient": 8.0,
    "ApproxAP gradient, 15 %": 4.0,
}


@kernel
def read_pass(values):
    """Sum float32 values: the least work that a pass over them can take."""
    total = values.dtype.type(0)
    for i in range(len(values)):
        total += values[i]
    return total


def same_length_queries(n_queries: int, n_docs: int, rng: np.random.Generator, shares=GRADES) -> Queries:
    grades = np.sort(rng.choice(5, size=(n_queries, n_docs), p=shares), axis=1)[:, ::-1]
    relevance = np.ascontiguousarray(grades, np.float64).ravel()
    rows = np.arange(n_queries * n_docs)
    return Queries(relevance, np.arange(n_queries + 1) * n_docs, rows, np.arange(n_queries))


def fastest(candidates: dict[str, Callable], rounds: int) -> dict[str, float]:
    """Return the seconds of the fastest of some calls of each candidate; the candidates take turns."""
    seconds = dict.fromkeys(candidates, np.inf)
    for call in candidates.values():
        call()
    for _ in range(rounds):
        for name, call in candidates.items():
            start = time.thread_time()
            call()
            seconds[name] = min(seconds[name], time.thread_time() - start)
    return seconds


class EchoPlugin(NamedTuple):
    """The boundaries of queries."""

    indptr: np.ndarray
    longest: int


@register_kernel(query_gradient, EchoPlugin)
@kernel
def echo(plugin, q, scores, scratch, gradient):
    """Write the scores as their own gradient."""
    for i in range(len(scores)):
        gradient[i] = scores[i]
    return 0.0


class Echo(Surrogate):
    """A surrogate whose gradient costs nothing: the scores themselves."""

    offers = frozenset({ValueAndGradient, GradientKernel})
    is_bound, is_convex, is_smooth = False, True, True

    def uninformative(self, queries):
        """Skip no query."""
        return np.zeros(queries.n_queries, bool)

    def on(self, queries, weights):
        """Return the oracles on the boundaries of the queries."""
        return EchoOracles(EchoPlugin(queries.indptr, int(queries.sizes.max())))


class EchoOracles:
    """The oracles of `Echo`."""

    def __init__(self, plugin):
        self.plugin = plugin

    def gradient_plugin(self):
        """Return the boundaries."""
        return self.plugin

    def value_and_gradient(self, scores):
        """Return the scores as their own gradient."""
        return 0.0, scores


def passes(arguments) -> None:
    rng = np.random.default_rng(0)
    queries = same_length_queries(arguments.queries, arguments.docs, rng)
    features = aligned_zeros((queries.n_docs, arguments.features), np.float32)
    rng.standard_normal(dtype=np.float32, out=features)
    few = same_length_queries(arguments.queries, arguments.docs, rng, FEW_RELEVANT)
    shards = make_shards(queries.indptr, arguments.features)
    w = rng.normal(size=arguments.features) / 50
    scorer = Linear()

    def gradient_of(surrogate, of=queries):
        objective = Objective(surrogate, of, shards, normalise=False)
        objective.dtype = np.float32
        return lambda: value_and_gradient(objective, scorer, w, features)

    seconds = fastest(
        {
            "read pass over X": lambda: read_pass(features.reshape(-1)),
            "numpy X@w, then g@X": lambda: (features @ w.astype(np.float32)) @ features,
            "scores → Xᵀg, streamed": gradient_of(Echo()),
            "ApproxNDCG gradient": gradient_of(SmoothedPositions(NDCG())),
            "ApproxNDCG@10 gradient": gradient_of(SmoothedPositions(NDCG(10))),
            "ApproxAP gradient": gradient_of(SmoothedPositions(AP())),
            "ApproxAP gradient, 15 %": gradient_of(SmoothedPositions(AP()), few),
        },
        arguments.rounds,
    )
    base = seconds["read pass over X"]
    megabytes = features.nbytes / 1e6
    print(
        f"{arguments.queries} queries × {arguments.docs} documents × {arguments.features} features, "
        f"{megabytes:.0f} MB, {len(shards)} shards; one thread"
    )
    print(f"{'':28}{'ms':>9}{'× read':>9}{'target':>9}")
    for name, each in seconds.items():
        target = f"{TARGETS[name]:9.1f}" if name in TARGETS else ""
        print(f"{name:28}{1e3 * each:9.2f}{each / base:9.2f}{target}")
    print(f"read pass: {megabytes / 1e3 / base:.1f} GB/s")


def kernels(arguments) -> None:
    print("\ngradients on scores alone, ns per document, float32")
    print(f"{'documents per query':28}" + "".join(f"{n:>9}" for n in arguments.lengths))
    for label, measure in (("ApproxNDCG", NDCG()), ("ApproxNDCG@10", NDCG(10)), ("ApproxAP", AP())):
        figures = []
        for n in arguments.lengths:
            rng = np.random.default_rng(n)
            queries = same_length_queries(max(1, 120_000 // n), n, rng)
            surrogate = SmoothedPositions(measure)
            oracles = surrogate.on(queries, np.full(queries.n_queries, 1.0 / queries.n_queries))
            scores = rng.normal(size=queries.n_docs).astype(np.float32)
            call = {"": lambda oracles=oracles, scores=scores: oracles.value_and_gradient(scores)}
            figures.append(1e9 * fastest(call, arguments.rounds)[""] / queries.n_docs)
        print(f"{label:28}" + "".join(f"{each:9.1f}" for each in figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=16000)
    parser.add_argument("--docs", type=int, default=120, help="documents per query")
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--lengths", type=int, nargs="+", default=[25, 120, 1000])
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    passes(arguments)
    kernels(arguments)


if __name__ == "__main__":
    main()

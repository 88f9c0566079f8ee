"""Gradient and curvature of surrogates, as a multiple of the gradient alone: what a round of trees asks for.

    python -m benchmarks.kernels.curvature [--documents 60000] [--rounds 5]

On lists of 25, 120 and 1,000 documents, with respect to scores, in float64. Both are timed in turns in one
process on one thread; times are minima of processor time. SoftRank is timed on a twentieth of the documents.
"""

import argparse

import numpy as np

from benchmarks.kernels.pairwise import fastest, lists
from directrank.apps.papers import CosineDistance, NoisyNeighbours
from directrank.measures import AP, NDCG
from directrank.surrogates import (
    ExpectedMeasure,
    ExponentialPairs,
    Fidelity,
    GainCrossEntropy,
    GaussianNoise,
    OrderPreserving,
    Pairwise,
    PlackettLuce,
    SmoothedPositions,
    SoftmaxCrossEntropy,
    SquaredError,
    SwapWeighted,
)

SURROGATES = {
    "least squares": SquaredError(),
    "ListNet": SoftmaxCrossEntropy(),
    "XE-NDCG": GainCrossEntropy(),
    "ListMLE": PlackettLuce(),
    "RankCosine": CosineDistance(),
    "RankSVM, squared hinge": Pairwise(margin="squared_hinge"),
    "RankNet, logistic": Pairwise(margin="logistic"),
    "consistent, Huber": OrderPreserving(NDCG()),
    "LambdaLoss": SwapWeighted(NDCG()),
    "LambdaRank of AP": SwapWeighted(AP(), weights="swap"),
    "YetiLoss": NoisyNeighbours(NDCG()),
    "ApproxNDCG": SmoothedPositions(NDCG()),
    "ApproxAP": SmoothedPositions(AP()),
    "SoftRank": GaussianNoise(NDCG()),
    "NDCGBoost": ExpectedMeasure(NDCG()),
    "RankBoost": ExponentialPairs(),
    "FRank": Fidelity(),
}
LENGTHS = (25, 120, 1000)


def ratio(surrogate, n_docs, length, rounds):
    """Return the time of gradient and curvature over that of the gradient."""
    queries, scores = lists(n_docs, length)
    oracles = surrogate.on(queries, np.full(queries.n_queries, 1.0 / queries.n_queries))
    scores = scores.astype(np.float64)
    seconds = fastest(
        {
            "gradient": lambda: oracles.value_and_gradient(scores),
            "curvature": lambda: oracles.derivatives(scores),
        },
        rounds,
    )
    return seconds["curvature"] / seconds["gradient"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{'documents per query':<28}" + "".join(f"{n:>8}" for n in LENGTHS))
    for name, surrogate in SURROGATES.items():
        n_docs = asked.documents // (20 if name == "SoftRank" else 1)
        found = [ratio(surrogate, n_docs, length, asked.rounds) for length in LENGTHS]
        print(f"{name:<28}" + "".join(f"{each:>8.2f}" for each in found), flush=True)


if __name__ == "__main__":
    main()

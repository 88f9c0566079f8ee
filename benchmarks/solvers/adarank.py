"""AdaRank's training time against a naive implementation of the same algorithm.

    python benchmarks/solvers/adarank.py [--queries 1000] [--docs 100] [--features 46] [--rounds 30]

The published algorithm asks in each round how well every feature ranks every query. The naive twin computes
that anew in each round, with the same fast measures; directrank computes it once and looks it up in a table.
Both choose the same features.
"""

import argparse
import time

import numpy as np

from directrank.data import make_ranking
from directrank.estimators import AdaRank
from directrank.measures import parse_measure
from directrank.measures.positions import positions_of


def naive(groups, measure, n_rounds: int) -> list[int]:
    """Train by recomputing every weak ranker in each round; return the features chosen."""
    queries = groups.queries
    taught = ~measure.uninformative(queries)

    def values(scores):
        positions = positions_of(queries, scores, n_read=measure.n_read(queries))
        return measure.query_values(queries, positions)

    weights = taught / taught.sum()
    scores, chosen = np.zeros(groups.n_docs), []
    for _ in range(n_rounds):
        columns = (np.ascontiguousarray(groups.features[:, k]) for k in range(groups.n_features))
        merits = np.array([weights @ values(column) for column in columns])
        best = int(np.argmax(merits))
        scores += np.arctanh(merits[best]) * groups.features[:, best]
        weights = taught * np.exp(-values(scores))
        weights /= weights.sum()
        chosen.append(best)
    return chosen


def seconds(call) -> tuple[float, list[int]]:
    start = time.process_time()
    chosen = call()
    return time.process_time() - start, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--features", type=int, default=46)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    groups = make_ranking(arguments.queries, arguments.docs, arguments.features, random_state=0)
    print(
        f"{groups}; {arguments.rounds} rounds, one thread; processor seconds, least of {arguments.runs} runs"
    )
    print(f"{'measure':10}{'ours':>8}{'naive':>8}{'naive / ours':>14}")
    for name in ("AP", "nDCG@5"):
        ranker = AdaRank(name, rounds=arguments.rounds, tolerance=np.inf, n_jobs=1)

        def ours(ranker=ranker):
            return [row["feature"] for row in ranker.fit(groups).history_]

        def twin(name=name):
            return naive(groups, parse_measure(name), arguments.rounds)

        fast, slow = ([seconds(call) for _ in range(arguments.runs)] for call in (ours, twin))
        same = "" if fast[0][1] == slow[0][1] else "  but other features were chosen"
        a, b = min(fast)[0], min(slow)[0]
        print(f"{name:10}{a:8.2f}{b:8.2f}{b / a:14.1f}{same}")


if __name__ == "__main__":
    main()

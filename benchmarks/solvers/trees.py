"""Trees under our objectives against LightGBM's own lambdarank: the time of training.

    python benchmarks/solvers/trees.py [--scale 0.1] [--rounds 50] [--threads 2] [--only lambdarank]

Data have the shape of MSLR-WEB30K times the scale: at 0.1 about 3,150 queries of 120 documents and 136
features. Both grow as many trees and leaves. Times are from features in memory to the trained model, with the
binning of features and the judging of a validation set after every round; no run stops early. Ratios are
computed within one run, of processor time and of elapsed time.
"""

import argparse
import time
from itertools import pairwise

import numpy as np

from directrank import QueryGroups, TreeRanker
from directrank.data.queries import Queries

QUERIES, DOCS, FEATURES, GRADES = 31_531, 3_771_125, 136, (0.52, 0.32, 0.12, 0.03, 0.01)
OURS = {
    "lambdarank": ("lambdarank", "nDCG"), "lambdaloss": ("lambdaloss", "nDCG"),
    "approxndcg": ("approx", "nDCG"), "approxap": ("approx", "AP"), "consistent": ("consistent", "nDCG"),
    "listnet": ("listnet", "nDCG"), "xendcg": ("xendcg", "nDCG"),
}  # fmt: skip


def made_up(scale: float, rng) -> QueryGroups:
    """Return queries of log-normal sizes, in the inner order, whose grades depend on some features."""
    n_queries = round(scale * QUERIES)
    sizes = np.exp(0.5 * rng.standard_normal(n_queries))
    sizes = np.maximum(2, np.rint(sizes * scale * DOCS / sizes.sum())).astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    features = rng.standard_normal((indptr[-1], FEATURES), dtype=np.float32)
    utility = features[:, 0] * features[:, 1] + features[:, 2] + rng.standard_normal(len(features))
    grades = np.searchsorted(np.quantile(utility, np.cumsum(GRADES)[:-1]), utility).astype(float)
    for first, last in pairwise(indptr):
        order = np.argsort(-grades[first:last], kind="stable") + first
        features[first:last], grades[first:last] = features[order], grades[order]
    queries = Queries(grades, indptr, np.arange(len(grades)), np.arange(n_queries))
    return QueryGroups.from_inner(features, queries)


def of_lightgbm(train: QueryGroups, vali: QueryGroups, rounds: int, threads: int) -> None:
    import lightgbm

    given = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": [10],
        "num_threads": threads,
        "verbose": -1,
    }
    data = lightgbm.Dataset(train.features, train.queries.relevance, group=train.queries.sizes)
    other = data.create_valid(vali.features, vali.queries.relevance, group=vali.queries.sizes)
    lightgbm.train(given, data, rounds, valid_sets=[other])


def ours(name: str, train: QueryGroups, vali: QueryGroups, rounds: int, threads: int) -> None:
    objective, measure = OURS[name]
    ranker = TreeRanker(objective, measure=measure, rounds=rounds, patience=None, select_by="nDCG@10")
    ranker.set_params(n_jobs=threads).fit(train, eval_set=vali)


def seconds(work) -> np.ndarray:
    """Return processor time and elapsed time."""
    start = time.process_time(), time.perf_counter()
    work()
    return np.array([time.process_time(), time.perf_counter()]) - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default=",".join(OURS))
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    train, vali = made_up(given.scale, rng), made_up(given.scale / 10, rng)
    small = made_up(0.002, rng)
    print(train, f"{given.rounds} rounds, {given.threads} threads", flush=True)
    theirs = seconds(lambda: of_lightgbm(train, vali, given.rounds, given.threads))
    print(f"{'lightgbm:lambdarank':24} {theirs[0]:8.1f} s of processors {theirs[1]:8.1f} s", flush=True)
    for name in given.only.split(","):
        for groups in (small, small.select(range(9))):  # compile first
            ours(name, groups, groups, 2, 1)
        ours(name, made_up(0.02, rng), small, 2, 1)
        mine = seconds(lambda: ours(name, train, vali, given.rounds, given.threads))  # noqa: B023 - run at once
        ratios = mine / theirs
        print(
            f"{'trees-' + name:24} {mine[0]:8.1f} s of processors {mine[1]:8.1f} s, "
            f"{ratios[0]:.2f} and {ratios[1]:.2f} times LightGBM's",
            flush=True,
        )


if __name__ == "__main__":
    main()

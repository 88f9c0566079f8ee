"""Cut-offs: what they keep and miss, and how often a promise is broken, on collections with folds.

    python benchmarks/studies/cutoff.py CRAN CISI NPL OHSUMED --draws 500

A collection is a folder with Fold1 … FoldN, such as `directrank features --kfold 5` writes. RankSVM is
trained on each fold and scores its test queries. In a draw, n of these queries are drawn with replacement;
the cut-off is calibrated on them, and the mean miss over the whole collection judges it. A draw breaks its
promise where that is above `--miss`.

Columns: documents kept and mean miss (means over draws) and the share of draws that break the promise.
`plug-in` is the largest threshold whose mean loss on the draw is at most `--miss`, without a correction.

With `--streams N` it prints instead how many of N streams of 1,000 queries, drawn like the 100 of a
calibration, raise a false alarm, and how soon a shift of top scores by one standard deviation is noticed.
"""

import argparse
import math

import numpy as np

from directrank import Cutoff, RankSVM, find_folds
from directrank.apps.cutoff.axes import AXES, ScoredLists
from directrank.apps.cutoff.exchangeability import STALE, e_values
from directrank.apps.cutoff.promises import largest_threshold

SIZES = (9, 20, 50, 200)
NAMES = ("score", "standardised", "gap", "rank")


def scored(folder: str) -> ScoredLists:
    """Return the test documents of all folds that have a relevant one, scored out of fold."""
    columns = [[], [], []]
    for fold in find_folds(folder):
        train, vali, test = fold.load()
        ranker = RankSVM().fit(train, eval_set=vali)
        for column, values in zip(columns, (ranker.predict(test), test.relevance, test.qid), strict=True):
            column.append(values)
    scores, relevance, qid = map(np.concatenate, columns)
    lists = ScoredLists.of(scores, qid, relevance)
    return lists.chosen(np.bincount(lists.query, lists.relevance >= 1) > 0)


def plug_in(losses: np.ndarray, counts: np.ndarray, limit: float) -> bool:
    return float(losses @ counts) <= limit * counts.sum()


class Calibrated:
    """The documents of a collection, query by query, of which draws are made."""

    def __init__(self, lists: ScoredLists):
        self.lists = lists
        self.rows = np.split(np.arange(len(lists.scores)), lists.indptr[1:-1])
        self.values = {axis: AXES[axis][0](lists) for axis in AXES}

    def drawn(self, queries: np.ndarray):
        """Return scores, relevance and query numbers of a draw."""
        rows = np.concatenate([self.rows[query] for query in queries])
        qid = np.repeat(np.arange(len(queries)), [len(self.rows[query]) for query in queries])
        return self.lists.scores[rows], self.lists.relevance[rows], qid

    def outcome(self, axis: str, threshold: float) -> tuple[float, float]:
        """Return the share of documents kept and the mean miss of the whole collection."""
        kept = self.values[axis] >= threshold
        relevant = self.lists.relevance >= 1
        found, every = (
            np.bincount(self.lists.query, which, self.lists.n_queries)
            for which in (relevant & kept, relevant)
        )
        return float(kept.mean()), float((1 - found / every).mean())


def plug_in_threshold(scores, relevance, qid, axis: str, limit: float) -> float:
    lists = ScoredLists.of(scores, qid, relevance)
    relevant = lists.relevance >= 1
    query = lists.query[relevant]
    weights = 1.0 / np.bincount(query, minlength=lists.n_queries)[query]
    values = AXES[axis][0](lists)[relevant]
    return largest_threshold(values, weights, query, lists.n_queries, plug_in, limit)


def streams(tops: np.ndarray, n_streams: int) -> None:
    """Print false alarms, and after how many queries a shift is noticed."""
    alarms, noticed = 0, {1.0: [], -1.0: []}
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        calibration = rng.choice(tops, 100)
        alarms += e_values(calibration, rng.choice(tops, 1000), seed).max() >= STALE
        for sign, first in noticed.items():
            path = e_values(calibration, rng.choice(tops, 200) + sign * tops.std(), seed) >= STALE
            first.append(int(np.argmax(path)) + 1 if path.any() else math.inf)
    print(f"false alarms: {alarms} of {n_streams} streams of 1,000 queries")
    for sign, first in noticed.items():
        within, median = np.mean(np.isfinite(first)), np.median(first)
        print(
            f"shift {sign:+.0f} deviation: noticed within 200 queries {within:.1%}, median after {median:.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--miss", type=float, default=0.2)
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    arguments = parser.parse_args()
    rules = [("plug-in", None, None)]
    rules += [(promise, promise, axis) for promise in ("mean", "nine in ten") for axis in NAMES]
    rules += [(promise, promise, None) for promise in ("mean", "nine in ten")]
    for folder in arguments.collections:
        collection = Calibrated(scored(folder))
        n_queries = collection.lists.n_queries
        if arguments.streams:
            print(folder)
            streams(collection.lists.top, arguments.streams)
            continue
        print(f"\n{folder}: {n_queries} queries, {len(collection.lists.scores)} documents")
        print(f"{'n':>4}  {'promise':12} {'axis':13} {'kept':>6} {'miss':>6} {'broken':>7}  what was chosen")
        for n in map(int, arguments.sizes.split(",")):
            draws = [
                np.random.default_rng((n, draw)).integers(n_queries, size=n)
                for draw in range(arguments.draws)
            ]
            for name, promise, axis in rules:
                results, axes = [], {}
                for queries in draws:
                    sample = collection.drawn(queries)
                    if promise is None:
                        chosen, threshold = "rank", plug_in_threshold(*sample, "rank", arguments.miss)
                    else:
                        cutoff = Cutoff(arguments.miss, promise=promise, axis=axis).fit(*sample)
                        chosen, threshold = cutoff.axis_, cutoff.threshold_
                    if math.isinf(threshold):
                        chosen = "nothing cut"
                    axes[chosen] = axes.get(chosen, 0) + 1
                    results.append(collection.outcome("rank" if math.isinf(threshold) else chosen, threshold))
                kept, missed = np.transpose(results)
                label = axis or ("rank" if promise is None else "chosen")
                counts = ", ".join(f"{axis} {count}" for axis, count in sorted(axes.items()))
                print(
                    f"{n:4}  {name:12} {label:13} {kept.mean():6.1%} {missed.mean():6.3f} "
                    f"{(missed > arguments.miss).mean():7.1%}  {counts}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

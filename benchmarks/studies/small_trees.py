"""Trees on few documents, or wide data, by the defaults, and with another value of one parameter.

A drawing has queries to train on, queries to choose the rounds, and others that judge: of a made collection
(as many, a quarter as many but at least 32, and 200), or of the training and validation sets of a folder with
Fold1 … FoldN (as many, as many, and the rest with all their documents). `compare` trains both on each
drawing. Printed are mean differences of nDCG@10 and AP, the other value less the default, with standard
errors over drawings.

    python benchmarks/studies/small_trees.py bins 255 --features 600 2048
    python benchmarks/studies/small_trees.py feature_share 0.3
    python benchmarks/studies/small_trees.py leaves 7 --features 45 --queries 100
    python benchmarks/studies/small_trees.py leaves 7 --folder OHSUMED --queries 24 --documents 40
"""

import argparse
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from directrank import QueryGroups, TreeRanker, compare, find_folds

MADE_TEST = 200
MEASURES = ("nDCG@10", "AP")
#: The utilities at which grades 1 and 2 begin.
COLLECTIONS = {"linear": (1, 3), "dense": (1, 3), "sparse": (5, 10), "interactions": (3, 6)}


def made(kind: str, n_features: int, n_queries: int, n_docs: int, seed: int) -> list[QueryGroups]:
    """Draw the three parts of a made collection."""
    rng, parts, first = np.random.default_rng([seed, n_features, list(COLLECTIONS).index(kind)]), [], 0
    weights = np.zeros(n_features)
    if kind == "linear":
        weights[:4] = 1.0
    elif kind == "dense":
        weights[:40] = rng.normal(size=40) * np.sqrt(0.5)
    elif kind == "sparse":
        weights[:8] = 1.5 + 1.5 * rng.exponential(size=8)
    for size in (n_queries, max(32, n_queries // 4), MADE_TEST):
        shape = (size * n_docs, n_features)
        if kind == "sparse":
            X = rng.exponential(size=shape) * (rng.random(shape) < 0.3)
        else:
            X = rng.standard_normal(shape)
        utility = 2 * (X[:, 0] * X[:, 1] + 2 * np.abs(X[:, 4])) if kind == "interactions" else X @ weights
        grades = np.digitize(utility + 0.5 * rng.standard_normal(len(X)), COLLECTIONS[kind]).astype(float)
        qid = np.repeat(np.arange(first, first + size), n_docs)
        parts.append(QueryGroups(X.astype(np.float32), grades, qid))
        first += size
    return parts


def of_folder(folder: Path, n_queries: int, n_docs: int, seed: int) -> list[QueryGroups]:
    """Draw the three parts from the training and validation sets of a fold, not from its test set."""
    folds, rng = find_folds(folder), np.random.default_rng(seed)
    train, vali, _ = folds[seed % len(folds)].load()
    pool = QueryGroups.concatenate([train, vali])
    order = rng.permutation(pool.n_queries)
    parts = [pool.select(order[first : first + n_queries]) for first in (0, n_queries)]
    fewer = []
    for part in parts:
        places = part.queries.indptr
        rows = [rng.permutation(np.arange(a, b))[:n_docs] for a, b in pairwise(places)]
        every = np.concatenate(rows)
        qid = np.repeat(part.queries.qid, [len(some) for some in rows])
        fewer.append(QueryGroups(part.features[every], part.queries.relevance[every].astype(float), qid))
    return [*fewer, pool.select(order[2 * n_queries :])]


def change(objective: Any, parts: list[QueryGroups], seed: int, **changed: Any) -> np.ndarray:
    """Return the means of the measures on held-out queries, less those of the default."""
    rankers = [TreeRanker(objective, measure="nDCG", select_by="nDCG@10", **each) for each in ({}, changed)]
    results = compare(
        parts, rankers, select_by="nDCG@10", measures=MEASURES, seeds=[seed], audit=False
    )  # fmt: skip
    default, other = (
        [results.value(row, results.folds[0], measure, "standard") for measure in MEASURES]
        for row in results.trained
    )
    return np.array(other, float) - np.array(default, float)


def main() -> None:
    """Print a line for each collection and objective."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parameter")
    parser.add_argument("value", type=float)
    parser.add_argument("--features", type=int, nargs="+", default=[2048], help="Of made collections.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--queries", type=int, default=32, help="Queries to train on.")
    parser.add_argument("--documents", type=int, default=10, help="Most documents of a query to train on.")
    parser.add_argument("--drawings", type=int, default=12)
    given = parser.parse_args()
    value = int(given.value) if given.value.is_integer() else given.value
    sizes = given.queries, given.documents
    if given.folder:
        collections = {given.folder.name: partial(of_folder, given.folder, *sizes)}
    else:
        collections = {
            f"{kind}, {width} features": partial(made, kind, width, *sizes)
            for width, kind in product(given.features, COLLECTIONS)
        }
    print(f"objective   collection                    {'nDCG@10':>18}{'AP':>18}")
    for objective, (name, draw) in product(("xendcg", "consistent"), collections.items()):
        changes = [
            change(objective, draw(seed), seed, **{given.parameter: value}) for seed in range(given.drawings)
        ]
        error = np.std(changes, axis=0, ddof=1) / np.sqrt(given.drawings)
        cells = [
            f"{mean:+10.4f} ({each:.4f})" for mean, each in zip(np.mean(changes, axis=0), error, strict=True)
        ]
        print(f"{objective:12}{name:30}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()

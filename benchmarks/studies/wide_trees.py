"""Trees on wide data by the defaults, and with another value of one parameter.

Each drawing has 32 queries of 10 documents to train on, 32 to choose the rounds, and 200 that judge. Printed
are mean differences of nDCG@10 and AP, the other value less the default, with standard errors over drawings,
and processor seconds of a fit.

    python benchmarks/studies/wide_trees.py bins 255 --features 600 2048
    python benchmarks/studies/wide_trees.py feature_share 0.3
"""

import argparse
import time
from itertools import product
from typing import Any

import numpy as np

from directrank import QueryGroups, TreeRanker, evaluate

QUERIES, DOCUMENTS = (32, 32, 200), 10
MEASURES = ("nDCG@10", "AP")
#: The utilities at which grades 1 and 2 begin.
COLLECTIONS = {"linear": (1, 3), "dense": (1, 3), "sparse": (5, 10), "interactions": (3, 6)}


def drawn(kind: str, n_features: int, seed: int) -> list[QueryGroups]:
    """Draw the three parts of a collection."""
    rng, parts = np.random.default_rng([seed, n_features, list(COLLECTIONS).index(kind)]), []
    weights = np.zeros(n_features)
    if kind == "linear":
        weights[:4] = 1.0
    elif kind == "dense":
        weights[:40] = rng.normal(size=40) * np.sqrt(0.5)
    elif kind == "sparse":
        weights[:8] = 1.5 + 1.5 * rng.exponential(size=8)
    for n_queries in QUERIES:
        shape = (n_queries * DOCUMENTS, n_features)
        if kind == "sparse":
            X = rng.exponential(size=shape) * (rng.random(shape) < 0.3)
        else:
            X = rng.standard_normal(shape)
        utility = 2 * (X[:, 0] * X[:, 1] + 2 * np.abs(X[:, 4])) if kind == "interactions" else X @ weights
        grades = np.digitize(utility + 0.5 * rng.standard_normal(len(X)), COLLECTIONS[kind]).astype(float)
        parts.append(QueryGroups(X.astype(np.float32), grades, np.repeat(np.arange(n_queries), DOCUMENTS)))
    return parts


def judged(objective: str, parts: list[QueryGroups], seed: int, changed: dict[str, Any]) -> np.ndarray:
    """Return the measures on held-out queries, and the processor seconds of the fit."""
    train, vali, held_out = parts
    ranker = TreeRanker(objective, measure="nDCG", leaves=7, select_by="nDCG@10", random_state=seed, n_jobs=1)
    ranker.set_params(**changed)
    started = time.process_time()
    ranker.fit(train, eval_set=vali)
    seconds = time.process_time() - started
    values = evaluate(held_out, ranker.predict(held_out), measures=MEASURES)
    return np.array([*(values[name] for name in MEASURES), seconds])


def main() -> None:
    """Print a line for each number of features, objective and collection."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parameter")
    parser.add_argument("value", type=float)
    parser.add_argument("--features", type=int, nargs="+", default=[2048])
    parser.add_argument("--drawings", type=int, default=12)
    given = parser.parse_args()
    value = int(given.value) if given.value.is_integer() else given.value
    print(f"features objective   collection    {'nDCG@10':>18}{'AP':>18}   seconds (default, other)")
    for n_features, objective, kind in product(given.features, ("xendcg", "consistent"), COLLECTIONS):
        rows = []
        for seed in range(given.drawings):
            parts = drawn(kind, n_features, seed)
            rows.append([judged(objective, parts, seed, each) for each in ({}, {given.parameter: value})])
        default, other = np.swapaxes(rows, 0, 1)
        change = other - default
        error = change.std(axis=0, ddof=1) / np.sqrt(given.drawings)
        cells = [f"{change[:, m].mean():+10.4f} ({error[m]:.4f})" for m in range(len(MEASURES))]
        means = f"{default[:, -1].mean():.2f} {other[:, -1].mean():.2f}"
        print(f"{n_features:8} {objective:12}{kind:14}{''.join(cells)}   {means}", flush=True)


if __name__ == "__main__":
    main()

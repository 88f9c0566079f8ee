"""OHSUMED of LETOR 2.0, whose features are not scaled, under three scalings, with the MAP of Xu et al. 2008.

    python benchmarks/studies/letor2_scalings.py --data OHSUMED_LETOR2

Each method trains on the official folds and selects its parameters on validation by AP. The table shows the
mean over the folds of test AP and nDCG@3 in LETOR's convention: the columns differ only by the scaling of
the features.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.estimators.methods import configured
from directrank.files import read_letor
from directrank.measures import evaluate

PRINTED = {
    "svmmap": 0.4456,
    "adarank(AP,variant=paper,signed=false)": 0.4419,
    "permurank(AP)": 0.4495,
    "ranksvm": 0.4469,
}


def by_query(groups: QueryGroups, scale) -> QueryGroups:
    """Scale the features of each query; rows keep the file order, which decides ties in letor3."""
    X = np.empty_like(groups.features)
    for a, b in pairwise(groups.queries.indptr):
        X[groups.queries.row[a:b]] = scale(groups.features[a:b].astype(np.float64))
    return QueryGroups(X, groups.relevance, groups.qid)


def min_max(X):
    """Scale to [0, 1]; a constant feature becomes 0."""
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(width > 0, width, 1.0)


def standard(X):
    """Scale to mean 0 and variance 1; a constant feature becomes 0."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 1e-9, deviation, 1.0)


SCALINGS = {"as it comes": lambda X: X, "min-max": min_max, "z-score": standard}


def on_test(method, folds):
    """Return the mean test AP and nDCG@3 of the point that is best on validation."""
    rows = []
    for train, vali, test in folds:
        fitted = [method.build(point).fit(train, eval_set=vali) for point in method.points()]
        values = [evaluate(vali, each.predict(vali), measures="AP")["AP"] for each in fitted]
        scores = fitted[int(np.argmax(values))].predict(test)
        found = evaluate(test, scores, measures=["AP", "nDCG@3"], convention="letor3")
        rows.append([found["AP"], found["nDCG@3"]])
    return np.mean(rows, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    folders = sorted(folder for folder in options.data.glob("Fold*") if folder.is_dir())
    raw = [[read_letor(folder / f"{part}.txt") for part in ("train", "vali", "test")] for folder in folders]
    heads = "".join(f"{name:>18}" for name in SCALINGS)
    print(f"{'AP / nDCG@3':<16}{'paper':>8}{heads}")
    for method, printed in zip(configured(list(PRINTED), "AP"), PRINTED.values(), strict=True):
        cells = ""
        for scale in SCALINGS.values():
            ap, ndcg = on_test(method, [[by_query(part, scale) for part in fold] for fold in raw])
            cells += f"{ap:>11.4f} {ndcg:.4f}"
        print(f"{method.method.name:<16}{printed:>8.4f}{cells}", flush=True)


if __name__ == "__main__":
    main()

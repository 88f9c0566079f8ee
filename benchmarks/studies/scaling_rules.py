"""Validation figures of scalings on unlike collections: how the rule of scaling="auto" was found.

    python benchmarks/studies/scaling_rules.py --data WEB_RAW OHSUMED OHSUMED_LETOR2 [--made lognormal counts]

Each method trains on the training set of every fold under every candidate and keeps its best value on the
validation set, AP and nDCG@10; the table has the means over folds. Test sets are not read. "reach 6" takes
the logarithm of features that reach further than 6 standard deviations from their mean, and standardises all.
Made collections have features of a normal distribution (Student's t for "student"), which a linear function
ranks, seen through another scale.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from directrank.data import QueryGroups, make_ranking
from directrank.estimators.methods import configured
from directrank.features.statistics import column_statistics, scaled_inside_queries
from directrank.files import read_letor
from directrank.measures import evaluate
from directrank.scorers.scaling import Scaling, fit_scaling

METHODS = "regression,listnet,consistent-ndcg,lambdaloss,approxndcg,ranksvm"
GRID = {"penalty": (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3)}
SMOOTHED = {"penalty": (1e-4, 1e-3, 1e-2)}
N_MADE, N_TRAIN, N_FEATURES = 150, 60, 20
#: What a method sees instead of normal features X, by the name of the collection.
MADE = {
    "normal": lambda X, rng: X,
    "student": lambda X, rng: X,
    "lognormal": lambda X, rng: np.exp(rng.uniform(0.5, 2.5, N_FEATURES) * X),
    "signed": lambda X, rng: np.sign(X) * np.expm1(np.abs(rng.uniform(0.5, 3, N_FEATURES) * X)),
    "counts": lambda X, rng: rng.poisson(np.exp(rng.uniform(0, 5, N_FEATURES) + 1.2 * X)),
    "half-lognormal": lambda X, rng: np.where(np.arange(N_FEATURES) % 2, X, np.exp(2 * X)),
    "one-huge": lambda X, rng: X * np.where(np.arange(N_FEATURES) == 3, 1e8, 1.0),
    "constants": lambda X, rng: np.where(np.arange(N_FEATURES) % 4, X, 5.0),
    "units": lambda X, rng: X * 10.0 ** rng.uniform(-8, 8, N_FEATURES),
    "offsets": lambda X, rng: X + 10.0 ** rng.uniform(0, 4, N_FEATURES),
    "outliers": lambda X, rng: np.where(np.arange(len(X))[:, None] == 7 * np.arange(N_FEATURES), 1e6, X),
    "spread-0.75": lambda X, rng: X * 10.0 ** rng.uniform(-0.75, 0.75, N_FEATURES),
    "spread-1.5": lambda X, rng: X * 10.0 ** rng.uniform(-1.5, 1.5, N_FEATURES),
    "small": lambda X, rng: 0.03 * X,
    "large": lambda X, rng: 30.0 * X,
}
REACHES = (3, 5, 6, 8, 10)


def candidates(train: QueryGroups) -> dict[str, Scaling]:
    """Return the scalings to compare, fitted to a training set."""
    found = {kind: fit_scaling(kind, train) for kind in ("none", "standard", "log", "query", "auto")}
    reach = column_statistics(train.source, np.full(train.n_features, False)).reach
    return found | {f"reach {least}": _logarithms(train, reach > least) for least in REACHES}


def _logarithms(train: QueryGroups, which: np.ndarray) -> Scaling:
    of = column_statistics(train.source, which)
    factor = np.where(of.varies, 1.0, 0.0) / np.where(of.varies, of.deviation, 1.0)
    return Scaling("log", "", of.mean, factor, which)


def folds(source: str) -> Iterator[tuple[QueryGroups, QueryGroups]]:
    """Yield training and validation sets: of a folder's folds, or of three made collections."""
    if source not in (*MADE, "inside-queries"):
        for folder in sorted(each for each in Path(source).glob("Fold*") if each.is_dir()):
            yield read_letor(folder / "train.txt"), read_letor(folder / "vali.txt")
        return
    for seed in range(3):
        made = make_ranking(
            N_MADE, 40, N_FEATURES, n_useless=5, n_inverted=5, query_offset=0.3, random_state=seed,
            tail=2.5 if source == "student" else None,
        )  # fmt: skip
        if source == "inside-queries":
            X = scaled_inside_queries(made.features, made.queries.indptr)
        else:
            X = MADE[source](made.features.astype(np.float64), np.random.default_rng(seed))
        seen = QueryGroups.from_inner(np.ascontiguousarray(X, np.float32), made.queries)
        yield seen.select(range(N_TRAIN)), seen.select(range(N_TRAIN, N_MADE))


def on_validation(method, train: QueryGroups, vali: QueryGroups) -> list[float]:
    """Return the best AP and nDCG@10 of a method's grid."""
    values = []
    for point in method.points():
        scores = method.build({**point, "scaling": "none"}).fit(train).predict(vali)
        if np.isfinite(scores).all():
            values.append(list(evaluate(vali, scores, measures=["AP", "nDCG@10"]).values()))
    return np.max(values, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=[], help="folders with Fold1 … FoldN")
    parser.add_argument("--made", nargs="*", default=[*MADE, "inside-queries"])
    parser.add_argument("--methods", default=METHODS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for source in (*options.data, *options.made):
        pairs = [(train, vali, candidates(train)) for train, vali in folds(source)]
        names = list(pairs[0][2])
        chosen = [found["auto"].kind for *_, found in pairs]
        print(f"\n{source}: auto is {', '.join(chosen)}\n{'':<16}" + "".join(f"{name:>14}" for name in names))
        for method in configured(options.methods, "AP"):
            grid = (
                SMOOTHED if method.label == "approxndcg" else GRID if "penalty" in method.method.grid else {}
            )
            method = replace(method, method=replace(method.method, grid=grid))
            cells = ""
            for name in names:
                sets = [(found[name].of(train), found[name].of(vali)) for train, vali, found in pairs]
                ap, ndcg = np.mean([on_validation(method, *each) for each in sets], axis=0)
                cells += f"  {ap:.4f} {ndcg:.3f}"
            print(f"{method.label:<16}{cells}", flush=True)


if __name__ == "__main__":
    main()

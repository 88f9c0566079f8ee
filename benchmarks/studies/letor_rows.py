"""What LETOR 3.0's rows of AdaRank and FRank, and NDCG_Boost's printed value, need on OHSUMED.

    python benchmarks/studies/letor_rows.py --data OHSUMED [--only adarank|frank|ndcgboost|loops]

AdaRank is done again in plain NumPy, so that ties can keep the order of the file, as in LETOR's own script.
FRank and NDCG_Boost are trained in several readings of their papers. The rounds are those that are best on
validation by AP; NDCG_Boost takes all 100 unless `keep=best`. A row has the mean of AP on the validation
sets, by which a reading could be chosen, and test means of five folds in LETOR's convention, in brackets the
standard error of the difference to the first row over queries.

`loops` compares the loops of AdaRank on any folds: rounds are kept by the training measure, so that the
validation sets are not seen, and the mean of that measure on the validation sets decides.
"""

import argparse
import warnings
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from directrank import find_folds
from directrank.data.groups import QueryGroups
from directrank.estimators import AdaRank, FRank, NDCGBoost
from directrank.measures import evaluate

SHOWN = ("AP", "nDCG@1", "nDCG@3", "nDCG@10")
#: Readings of the papers: settings that differ from the first row.
READINGS = {
    "frank": (
        FRank,
        {},
        {"line_search": False, "shrinkage": 1.0},
        {"line_search": False, "shrinkage": 1.0, "rounds": 500},
        {"line_search": False, "shrinkage": 1.0, "criterion": "eta"},
        {"line_search": False, "shrinkage": 1.0, "criterion": "eta", "rounds": 500},
        {"shrinkage": 1.0},
        {"criterion": "eta"},
        {"rounds": 500},
        {"normalise": False},
        {"search": "histogram"},
        {"weak_ranker": "feature"},
        {"sampling": True},
    ),
    "ndcgboost": (
        NDCGBoost,
        {},
        {"criterion": "eta"},
        {"criterion": "eta", "keep": "best"},
        {"criterion": "eta", "keep": "best", "rounds": 300},
        {"criterion": "eta", "shrinkage": 0.3},
        {"criterion": "eta", "shrinkage": 0.3, "rounds": 300, "keep": "best"},
        {"criterion": "eta", "sampling": True},
        {"criterion": "eta", "measure": "nDCG@10"},
        {"criterion": "eta", "measure": "nDCG@3"},
        {"weak_ranker": "feature"},
        {"sampling": True},
        {"keep": "best"},
    ),
}


def ap_of(relevant: np.ndarray, scores: np.ndarray) -> float:
    """Return AP with ties in the order of the rows, 0 where nothing is relevant."""
    ranked = relevant[np.argsort(-scores, kind="stable")]
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precision[ranked].mean()) if ranked.any() else 0.0


def queries_of(groups: QueryGroups, reverse: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the features and the relevant documents of each query, in the order of the file or reversed."""
    X, relevant, order = groups.X.astype(np.float64), groups.relevance > 0, 1 - 2 * reverse
    edges = np.flatnonzero(np.append(True, groups.qid[1:] != groups.qid[:-1]))
    return [(X[a:b][::order], relevant[a:b][::order]) for a, b in pairwise([*edges, len(X)])]


def adarank(train, vali, *, signed: bool, repeat: bool, last: bool) -> tuple[np.ndarray, int]:
    """Return the weights of the best round on validation, or of the last one, and their number of rounds."""
    train = [(X, relevant) for X, relevant in train if 0 < relevant.sum() < len(relevant)]
    signs = (1.0, -1.0) if signed else (1.0,)
    weak = [(sign, k) for sign in signs for k in range(train[0][0].shape[1])]
    table = np.array([[ap_of(relevant, sign * X[:, k]) for sign, k in weak] for X, relevant in train])
    P, w, taken, before = np.full(len(train), 1 / len(train)), np.zeros(train[0][0].shape[1]), set(), 0.0
    best, found, rounds = -1.0, w, 0
    for round_ in range(1, (100 if repeat else len(weak)) + 1):
        merit = P @ table
        merit[list(taken)] = -1.0
        chosen = int(np.argmax(merit))
        sign, k = weak[chosen]
        w = w + sign * np.arctanh(merit[chosen]) * np.eye(len(w))[k]
        values = np.array([ap_of(relevant, X @ w) for X, relevant in train])
        if repeat and values.mean() <= before:
            break
        before, P = values.mean(), np.exp(-values) / np.exp(-values).sum()
        taken |= set() if repeat else {chosen}
        value = 1.0 * round_ if last else np.mean([ap_of(relevant, X @ w) for X, relevant in vali])
        if value > best:
            best, found, rounds = value, w, round_
    return found, rounds


def adarank_rows(folds) -> None:
    """Print AdaRank by the order of ties, by repetition, by directions, and by the round that is kept."""
    for reverse, repeat, signed, last in product((False, True), (False, True), (False, True), (False, True)):
        table, validation, rounds = [], [], []
        for train, vali, test in folds:
            w, number = adarank(
                queries_of(train, reverse), queries_of(vali, reverse), signed=signed, repeat=repeat, last=last
            )
            table.append(evaluate(test, test.X @ w, measures=SHOWN, convention="letor3", per_query=True))
            validation.append(evaluate(vali, vali.X @ w, measures="AP")["AP"])
            rounds.append(number)
        name = f"ties {'reversed' if reverse else 'in order'}, {'repeating' if repeat else 'once'}, "
        name += f"{'both directions' if signed else 'descending'}, {'last' if last else 'best'} round"
        show(name, validation, table, table, f"{min(rounds)}-{max(rounds)} rounds")
        print(" " * 8 + "AP by fold " + " ".join(f"{each['AP']:.4f}" for each in table), flush=True)


def loop_rows(folds) -> None:
    """Print the validation value of each loop of AdaRank, trained without the validation set."""
    for measure, variant, signed in product(("AP", "nDCG@10"), ("paper", "once"), (False, True)):
        held_out = []
        for train, vali, _ in folds:
            ranker = AdaRank(measure, variant=variant, signed=signed).fit(train)
            held_out.append(evaluate(vali, ranker.predict(vali), measures=measure)[measure])
        directions = "both directions" if signed else "descending"
        print(f"{measure}, {variant}, {directions}: {np.mean(held_out):.4f}", flush=True)


def reading_rows(name: str, folds) -> None:
    """Print every reading of a paper."""
    estimator, *readings = READINGS[name]
    first = None
    for reading in readings:
        table, validation, rounds = [], [], []
        for train, vali, test in folds:
            settings = (
                {"select_by": "AP", "measure": "nDCG"} if estimator is NDCGBoost else {"select_by": "AP"}
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ranker = estimator(**{**settings, **reading}).fit(train, eval_set=vali)
            scores = ranker.predict(test)
            table.append(evaluate(test, scores, measures=SHOWN, convention="letor3", per_query=True))
            validation.append(evaluate(vali, ranker.predict(vali), measures="AP")["AP"])
            rounds.append(len(ranker.scorer_.coefficients))
        first = first or table
        shown = ", ".join(f"{key}={value}" for key, value in reading.items()) or "default"
        show(f"{name} {shown}", validation, table, first, f"{min(rounds)}-{max(rounds)} rounds")


def show(name: str, validation, table, first, rounds: str) -> None:
    """Print a row."""
    cells = [f"{np.mean([each[measure] for each in table]):.4f}" for measure in SHOWN]
    if table is not first:
        for at, measure in enumerate(SHOWN):
            pairs = zip(table, first, strict=True)
            gaps = np.concatenate([a.per_query[measure] - b.per_query[measure] for a, b in pairs])
            cells[at] += f" ({gaps.std(ddof=1) / np.sqrt(len(gaps)):.4f})"
    print(
        f"{name}: validation {np.mean(validation):.4f}, {rounds}; "
        + ", ".join(f"{measure} {cell}" for measure, cell in zip(SHOWN, cells, strict=True)),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", choices=("adarank", *READINGS, "loops"), help="a part; else all")
    options = parser.parse_args()
    folds = [fold.load() for fold in find_folds(options.data)]
    if options.only in (None, "adarank"):
        adarank_rows(folds)
    if options.only in (None, "loops"):
        loop_rows(folds)
    for name in READINGS:
        if options.only in (None, name):
            reading_rows(name, folds)


if __name__ == "__main__":
    main()

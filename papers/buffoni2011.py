"""Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011: Tables 1 and 2, on folds in LETOR's layout.

The paper's data are MQ2007 and the Yahoo challenge; its own figures are printed beside those of the folds
given, for their order only (the scale of its DCG is not stated). As there: linear scorers, the Huber margin,
and λ chosen on the validation part by the measure that is reported; here by L-BFGS. Each pair of twins, a
consistent loss and the preorder loss that it replaces, is compared by a paired t-test over all test queries.

    python papers/buffoni2011.py --data OHSUMED [--out buffoni2011.csv]
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel

from directrank import OrderPreserving, Preorder
from directrank.data import find_folds
from directrank.measures import parse_measure
from directrank.measures.positions import positions_of

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
LOSSES = {
    "PREORDER": lambda penalty: Preorder(weights="plain", margin="huber", penalty=penalty),
    "CONSIST_DCG": lambda penalty: OrderPreserving("DCG", penalty=penalty),
    "CONSIST_NDCG": lambda penalty: OrderPreserving("nDCG", penalty=penalty),
    "PREORDER_NORM": lambda penalty: Preorder(weights="norm", margin="huber", penalty=penalty),
    "PREORDER_NORM+DCG": lambda penalty: Preorder(weights="norm-dcg", margin="huber", penalty=penalty),
    "CONSIST_NORM+DCG": lambda penalty: OrderPreserving("DCG", per_pair=True, penalty=penalty),
}
# ERR, DCG, NDCG on MQ2007, Tables 1 and 2.
PUBLISHED = {
    "PREORDER": (0.31392, 1.7678, 0.66696),
    "CONSIST_DCG": (0.316, 1.76806, 0.66714),
    "CONSIST_NDCG": (0.3134, 1.76566, 0.66858),
    "PREORDER_NORM": (0.31278, 1.76412, 0.66794),
    "PREORDER_NORM+DCG": (0.31776, 1.77058, 0.6714),
    "CONSIST_NORM+DCG": (0.31746, 1.77124, 0.67032),
}
TWINS = (
    ("CONSIST_DCG", "PREORDER"),
    ("CONSIST_NDCG", "PREORDER"),
    ("CONSIST_NORM+DCG", "PREORDER_NORM"),
    ("CONSIST_NORM+DCG", "PREORDER_NORM+DCG"),
)


def values_of(measure, groups, scores):
    return measure.query_values(groups.queries, positions_of(groups.queries, scores))


def train_all(folds):
    """Fitted rankers: loss → fold → penalty."""
    return {
        name: [[make(penalty).fit(train, eval_set=vali) for penalty in PENALTIES] for train, vali, _ in folds]
        for name, make in LOSSES.items()
    }


def on_test_queries(folds, fitted, measure):
    """The measure of every test query; it chooses the penalty on validation, fold by fold."""
    values = []
    for (_, vali, test), rankers in zip(folds, fitted, strict=True):
        means = [values_of(measure, vali, each.scorer_.scores(vali.features)).mean() for each in rankers]
        best = rankers[int(np.argmax(means))]
        values.append(values_of(measure, test, best.scorer_.scores(test.features)))
    return np.concatenate(values)


def twins_rows(values, measures):
    for ours, theirs in TWINS:
        for measure in measures:
            difference = values[ours, measure] - values[theirs, measure]
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            p = ttest_rel(values[ours, measure], values[theirs, measure]).pvalue
            yield ours, theirs, measure, f"{difference.mean():+.4f}", f"{error:.4f}", f"{p:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with Fold1/ … Fold5/")
    parser.add_argument("--out", type=Path, default=Path("buffoni2011.csv"))
    options = parser.parse_args()
    folds = [fold.load() for fold in find_folds(options.data)]
    largest = max(part.queries.max_relevance for fold in folds for part in fold)
    measures = {name: parse_measure(name) for name in (f"ERR(max={largest:g})", "DCG", "nDCG", "AP")}
    fitted = train_all(folds)
    values = {
        (loss, name): on_test_queries(folds, fitted[loss], measure)
        for loss in LOSSES
        for name, measure in measures.items()
    }
    print(
        f"{'':<20}" + "".join(f"{name:>12}" for name in measures) + "   published on MQ2007: ERR, DCG, NDCG"
    )
    for loss in LOSSES:
        means = "".join(f"{values[loss, name].mean():>12.4f}" for name in measures)
        print(f"{loss:<20}{means}   {', '.join(map(str, PUBLISHED[loss]))}")
    rows = list(twins_rows(values, measures))
    print(f"\ntwins over {len(next(iter(values.values())))} test queries: difference, standard error, p")
    for ours, theirs, *rest in rows:
        print(f"{ours:<18} - {theirs:<20}" + "".join(f"{each:>12}" for each in rest))
    with options.out.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["loss", "minus", "measure", "value", "standard_error", "p"])
        for (loss, name), each in values.items():
            table.writerow([loss, "", name, f"{each.mean():.6f}", "", ""])
        table.writerows(rows)


if __name__ == "__main__":
    main()

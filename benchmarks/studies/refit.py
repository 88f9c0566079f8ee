"""`auto` at full size, trained on the training sets or on the validation sets too, beside its members.

    python benchmarks/studies/refit.py OHSUMED WEB_RAW --measure nDCG@10 --out refit
    python benchmarks/studies/refit.py OHSUMED --convention letor3 --libraries lightgbm:lambdarank --out refit

A collection is a folder with Fold1 … FoldN. In each fold `auto` is trained for the measure, with the
validation set as its `eval_set`, and judged on the test set. `auto, refit` has the same decisions.
`equal weights` is the rule before: the sum of the members that the validation set alone keeps, without a
prior. Members are at the points that the validation set has chosen, which is what `compare` does, and what
`--libraries` are trained by: default grids, three seeds. Each row has its paired difference to `auto`, and
the rows of `auto` theirs to equal weights, with standard errors over queries.

`--out` keeps what the libraries' rows have trained.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from directrank import AutoRanker, QueryGroups, compare, evaluate, find_folds
from directrank.contracts import Measure
from directrank.estimators.ensembles import Trained, judged_scores, kept_members, sum_of
from directrank.estimators.ranker import scores_of
from directrank.measures import parse_measure
from directrank.measures.evaluation import values_of

MEASURES = ("AP", "nDCG@10")
EQUAL = "equal weights"


def best_members(
    ensemble: AutoRanker, fitted: list, train: QueryGroups, vali: QueryGroups, measure: Measure
) -> list[Trained]:
    """Return each member at the point of its grid that is best on the validation set."""
    best: dict[str, tuple[float, Trained]] = {}
    for (method, point), ranker in zip(ensemble.candidates(), fitted, strict=True):
        scores = judged_scores(ranker.scorer_, train, None, vali)
        value = values_of([measure], vali.queries, scores)[0].mean()
        if method.label not in best or value > best[method.label][0]:
            best[method.label] = value, Trained(method, point, ranker, scores=scores)
    return [member for _, member in best.values()]


def of_collection(collection: Path, given: argparse.Namespace) -> dict[tuple[str, str], np.ndarray]:
    """Return the values of each test query, by row and measure."""
    values: dict[tuple[str, str], list] = {}
    for number, fold in enumerate(find_folds(collection), 1):
        train, vali, test = fold.load()
        ensemble, scores = AutoRanker(given.measure, n_jobs=1), {}
        fitted = [
            method.build(point).set_params(n_jobs=1).fit(train, eval_set=vali)
            for method, point in ensemble.candidates()
        ]
        for label, refit in (("auto", False), ("auto, refit", True)):
            ranker = AutoRanker(given.measure, n_jobs=1).fit_among(fitted, train, eval_set=vali, refit=refit)
            scores[label] = ranker.predict(test)
        largest = max(train.relevance.max(), vali.relevance.max())
        measure = parse_measure(given.measure).with_largest_grade(largest)
        members = best_members(ensemble, fitted, train, vali, measure)
        kept = kept_members(members, measure, vali.queries)
        equal = sum_of([member.ranker for member in kept], train, None)
        scores[EQUAL] = test.to_caller(scores_of(equal, test.source, test))
        scores |= {member.method.label: member.ranker.predict(test) for member in members}
        shares = ", ".join(f"{kind} {share:.2f}" for kind, share in ranker.shares_.items())
        dropped = [member["name"] for member in ranker.members_ if not member["kept"]]
        print(f"{collection.name} {number}: {shares}; dropped {', '.join(dropped) or 'none'}", flush=True)
        for label, row in scores.items():
            found = evaluate(
                test, row, measures=MEASURES, convention=given.convention, per_query=True
            ).per_query
            for measure in MEASURES:
                values.setdefault((label, measure), []).append(np.asarray(found[measure], float))
    if given.libraries:
        found = compare(
            collection, given.libraries, select_by=given.measure, measures=MEASURES,
            convention=given.convention, out=given.out / collection.name, audit=False,
        )  # fmt: skip
        for label in found.trained:
            for measure in MEASURES:
                values[label, measure] = [
                    np.asarray(cell.per_query[given.convention][measure], float) for cell in found.of(label)
                ]
    return {key: np.concatenate(of_folds) for key, of_folds in values.items()}


def print_table(title: str, values: dict[tuple[str, str], np.ndarray]) -> None:
    print(f"\n| {title} | {' | '.join(MEASURES)} |\n|{' --- |' * (len(MEASURES) + 1)}")
    for label in dict.fromkeys(label for label, _ in values):
        cells = []
        for measure in MEASURES:
            base = EQUAL if label.startswith("auto") else "auto"
            less = values[label, measure] - values[base, measure]
            error = less.std(ddof=1) / np.sqrt(len(less))
            cells.append(f"{values[label, measure].mean():.4f}, {less.mean():+.4f} ({error:.4f})")
        print(f"| {label} | {' | '.join(cells).replace('0.', '.').replace('-.', '−.')} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--measure", default="AP")
    parser.add_argument("--convention", default="standard")
    parser.add_argument("--libraries", default="")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.mkdir(parents=True, exist_ok=True)
    for collection in given.collections:
        print_table(f"{collection.name}, trained for {given.measure}", of_collection(collection, given))


if __name__ == "__main__":
    main()

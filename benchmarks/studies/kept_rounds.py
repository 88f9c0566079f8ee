"""Trees and stumps without a validation set: rounds chosen on held-out queries, or on the training queries.

    python benchmarks/studies/kept_rounds.py OHSUMED WEB_RAW
    python benchmarks/studies/kept_rounds.py OHSUMED WEB_RAW --methods auto

Each folder has Fold1 … FoldN. Every method is fitted to the training set alone, at its defaults, by AP where
it fixes no measure, and judged on the test queries of all folds. The number of rounds is chosen by the rule
of `fit` without a validation set, or on the training queries themselves, which is what `eval_set` of the
training set does. In `auto` the members that boost are trained again by the second rule, in its place. Means
over queries, and differences with their paired standard errors. `--few N` holds each query out once where
there are fewer than N queries, in place of 30.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone

from directrank import QueryGroups, evaluate, load_letor
from directrank.apps.auto.ensembles import sum_of
from directrank.estimators import rounds
from directrank.estimators.methods import configured
from directrank.estimators.ranker import scores_of

METHODS = "trees-xendcg,trees-lambdarank,frank,rankboost"
MEASURES = ("AP", "nDCG@10")
#: The two rules, in the order of the columns.
RULES = ("training queries", "held-out queries")


def scores_by_both_rules(method, train: QueryGroups, test: QueryGroups) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the test scores with rounds chosen on training and on held-out queries, and both numbers."""
    ranker = method.build().set_params(n_jobs=1).fit(train)
    if not hasattr(ranker, "rankers_"):
        other = clone(ranker).fit(train, eval_set=train)
        return other.predict(test), ranker.predict(test), f"{other.rounds_} and {ranker.rounds_} rounds"
    boosted = [each for each in ranker.rankers_ if each.get_params().get("keep") == "best"]
    others = [clone(each).fit(train, eval_set=train) if each in boosted else each for each in ranker.rankers_]
    scorer = sum_of(others, train, None)
    numbers = [f"{len(boosted)} of {len(others)} members boost"] + [
        f"{other.rounds_} and {each.rounds_}"
        for other, each in zip(others, ranker.rankers_, strict=True)
        if each in boosted
    ]
    scores = test.to_caller(scores_of(scorer, test.source, test))
    return scores, ranker.predict(test), ", ".join(numbers)


def per_query(test: QueryGroups, scores: np.ndarray) -> dict[str, list[float]]:
    return dict(evaluate(test, scores, measures=MEASURES, per_query=True).per_query)


def row(method, folder: Path) -> str:
    """Return a row of the table, and print the numbers of rounds of each fold."""
    values = {rule: {measure: [] for measure in MEASURES} for rule in RULES}
    for fold in sorted(folder.glob("Fold*")):
        train, _, test = load_letor(fold)
        *scores, numbers = scores_by_both_rules(method, train, test)
        print(f"{folder.name} {fold.name} {method.label}: {numbers}", flush=True)
        for rule, each in zip(RULES, scores, strict=True):
            for measure, found in per_query(test, each).items():
                values[rule][measure] += list(found)
    cells = [folder.name, f"`{method.label}`"]
    for measure in MEASURES:
        before, after = (np.array(values[rule][measure]) for rule in RULES)
        gain = after - before
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        cells += [f"{before.mean():.4f}", f"{after.mean():.4f}", f"{gain.mean():+.4f} ({error:.4f})"]
    return f"| {' | '.join(cells)} |".replace("-0.", "−0.").replace("0.", ".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--few", type=int, default=rounds.FEW)
    given = parser.parse_args()
    rounds.FEW = given.few
    warnings.simplefilter("ignore")
    rows = [row(method, folder) for folder in given.folders for method in configured(given.methods, "AP")]
    heads = [f"{measure}: {each}" for measure in MEASURES for each in (*RULES, "difference")]
    print(f"\n| | | {' | '.join(heads)} |\n|{' --- |' * (len(heads) + 2)}")
    print("\n".join(rows))


if __name__ == "__main__":
    main()

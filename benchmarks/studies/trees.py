"""Trees under our objectives beside LightGBM's own, by `compare` with the grid of each method.

A synthetic collection has 300 queries to train on, 100 to choose and 300 to test, of 25 documents each, whose
grades depend on products of features. Printed are means of test nDCG@10 and AP, and their differences to
`lightgbm:lambdarank` with paired standard errors, over collections or over the folds of a folder.

    python benchmarks/studies/trees.py --draws 8
    python benchmarks/studies/trees.py --folder OHSUMED --methods trees-lambdarank
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrank import Comparison, compare, make_ranking
from directrank.data.groups import QueryGroups

BASELINE = "lightgbm:lambdarank"
METHODS = "lightgbm:rank_xendcg,trees-lambdarank,trees-consistent-ndcg,trees-xendcg,trees-lambdaloss,ranksvm"
MEASURES = ("nDCG@10", "AP")


def interactions(seed: int, n_queries=(300, 100, 300), n_features: int = 15) -> list[QueryGroups]:
    """Draw three parts whose grades depend on products of features, which have no effect of their own."""
    rng = np.random.default_rng(seed)
    parts = []
    for number in n_queries:
        groups = make_ranking(number, 25, n_features, random_state=rng)
        x = rng.normal(size=(groups.n_docs, n_features)).astype(np.float32)
        utility = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] + 0.7 * np.abs(x[:, 4]) + rng.normal(size=len(x))
        grades = np.digitize(utility, [0.8, 1.8, 3.0]).astype(float)
        parts.append(QueryGroups(x, grades, groups.qid + 1000 * len(parts)))
    return parts


def comparisons(folder: Path | None, draws: int, methods: str) -> Iterator[Comparison]:
    for source in [folder] if folder else map(interactions, range(draws)):
        yield compare(source, f"{BASELINE},{methods}", measures=MEASURES, seeds=(0,), audit=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", default=METHODS)
    given = parser.parse_args()
    found: dict[tuple[str, str], list] = {}
    for results in comparisons(given.folder, given.draws, given.methods):
        for fold in results.folds:
            for method in results.trained:
                for measure in MEASURES:
                    value = results.value(method, fold, measure, "standard")
                    found.setdefault((method, measure), []).append(value)
            last = {method: values[-1] for (method, name), values in found.items() if name == MEASURES[0]}
            print(fold, *(f"{method} {value:.4f}" for method, value in last.items()), flush=True)
    print(f"{'':28}", *(f"{measure:>8} {'difference':>18}" for measure in MEASURES))
    for method in dict.fromkeys(method for method, _ in found):
        line = f"{method:28}"
        for measure in MEASURES:
            values = np.array(found[method, measure])
            change = values - found[BASELINE, measure]
            error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
            line += f" {values.mean():8.4f} {change.mean():+9.4f} ({error:.4f})"
        print(line)


if __name__ == "__main__":
    main()

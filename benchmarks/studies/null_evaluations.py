"""How often `evaluate` claims a difference where there is none, and whether intervals say what p-values say.

``python benchmarks/studies/null_evaluations.py --sets 1000``: for each seed, runs of one quality rank the
documents of 50 queries. Printed is the share of sets in which any pair of two runs is marked under any of the
five default measures, corrected within each measure or over all; and, for six runs against a baseline, the
share of rows whose interval leaves 0 out while the corrected p-value is .05 or more: of the interval that is
printed, and of a 95 % bootstrap interval that knows of no correction.
"""

import argparse
from collections import Counter

import numpy as np

from directrank import QueryGroups, evaluate_runs
from directrank.apps.evaluation.significance import bootstrap_interval

QUERIES, DOCUMENTS, RUNS = 50, 20, 6


def runs_of(seed: int, n_runs: int, shift: float = 0.0) -> tuple[QueryGroups, dict[str, np.ndarray]]:
    """Return judged documents, and runs of one quality; `shift` makes that of some runs better."""
    rng = np.random.default_rng(seed)
    relevance = rng.choice([0, 1, 2], p=[0.7, 0.2, 0.1], size=QUERIES * DOCUMENTS).astype(float)
    groups = QueryGroups(
        np.zeros((len(relevance), 1), np.float32), relevance, np.repeat(np.arange(QUERIES), DOCUMENTS)
    )
    scores = {
        f"run{place}": (0.5 + shift * (place % 2)) * relevance + rng.normal(size=len(relevance))
        for place in range(n_runs)
    }
    return groups, scores


def marks(result) -> bool:
    """Whether any difference is significant."""
    tests = result.content.significance["standard"]
    return any(tests.significant(pair) for pairs in tests.pairs.values() for pair in pairs)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    sets = parser.parse_args().sets
    counts: Counter[str] = Counter()
    for seed in range(sets):
        groups, scores = runs_of(seed, 2)
        for family in ("measure", "all"):
            counts[family] += marks(evaluate_runs(groups, scores, family=family, diagnostics=False))
    for family in ("measure", "all"):
        error = np.sqrt(counts[family] * (sets - counts[family]) / sets**3)
        print(f"any false mark, --family {family}: {counts[family] / sets:.3f} (standard error {error:.3f})")
    for seed in range(sets // 5):
        groups, scores = runs_of(seed, RUNS, shift=0.25)
        result = evaluate_runs(groups, scores, baseline="run0", measures=["AP"], diagnostics=False)
        tests = result.content.significance["standard"]
        values = {name: np.array(result.of(name)[0].per_query["standard"]["AP"], float) for name in scores}
        for pair in tests.pairs["AP"]:
            low, high = bootstrap_interval((values[pair.method] - values[pair.baseline])[:, None])
            counts["rows"] += 1
            counts["bootstrap"] += (low[0] > 0 or high[0] < 0) != tests.significant(pair)
            counts["printed"] += (pair.low > 0 or pair.high < 0) != tests.significant(pair)
    for name in ("bootstrap", "printed"):
        print(f"rows whose {name} interval contradicts p: {counts[name]} of {counts['rows']}")


if __name__ == "__main__":
    main()

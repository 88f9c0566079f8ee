"""Significance of differences between the methods of a comparison, on the values of its test queries."""

import string
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from directrank.apps.evaluation.significance import (
    ALPHA,
    FLIPS,
    LEVEL,
    RESAMPLES,
    Randomisation,
    benjamini_hochberg,
    bootstrap_interval,
    contrasts,
    holm,
    row_alphas,
)
from directrank.apps.experiments.options import check_correction, check_family, check_name
from directrank.apps.experiments.results.comparison import Comparison
from directrank.apps.experiments.store.records import Pair, Significance


def with_significance(
    result: Comparison, baseline: str | None, correction: str, family: str = "measure"
) -> Comparison:
    """Return a comparison with the tests of its differences, under every convention of the report."""
    tests = {
        convention: significance(result, convention, baseline=baseline, correction=correction, family=family)
        for convention in result.conventions
    }
    return type(result)(replace(result.content, significance=tests))


def significance(
    result: Comparison,
    convention: str,
    *,
    baseline: str | None = None,
    correction: str = "holm",
    family: str = "measure",
) -> Significance:
    """Return which differences between methods are significant, measure by measure.

    The values of all test queries, over all folds, are paired by query. Methods that failed on a fold are
    skipped. Corrections are over the pairs of one measure, all or those with a baseline; or, with the family
    ``"all"``, over those of all measures.
    """
    check_correction(correction)
    check_family(family)
    failed = {cell.method for cell in result.failures}
    finished = [method for method in result.methods if method not in failed]
    compared = list(combinations(finished, 2))
    if baseline is not None:
        check_name("method", result.methods, baseline)
        compared = [(method, baseline) for method in finished if method != baseline and baseline in finished]
    # The 53rd method has the letter (53).
    letters = [*string.ascii_letters, *(f"({place})" for place in range(53, len(result.methods) + 1))]
    tests = Significance(
        alpha=ALPHA,
        correction=correction,
        baseline=baseline,
        level=LEVEL,
        flips=FLIPS,
        resamples=RESAMPLES,
        letters=dict(zip(result.methods, letters, strict=False)),
        better_than={},
        pairs=_contrasts(result, convention, compared, correction, family),
        family=family,
        intervals={measure: _intervals(result, convention, measure, finished) for measure in result.measures},
    )
    better_than = {
        measure: _better_than(tests, measure, result.content.smallest_is_best(measure))
        for measure in result.measures
    }
    winner = result.best_on_validation()
    against = [(winner, reference) for reference in result.references if winner in finished]
    references = _contrasts(result, convention, against, correction, family) if against else {}
    return replace(tests, better_than=better_than, references=references)


def _intervals(
    result: Comparison, convention: str, measure: str, methods: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return the bootstrap interval of each method's mean over folds; queries are resampled."""
    if not methods:
        return {}
    values = np.stack([result.query_values(convention, measure, method) for method in methods], axis=1)
    sizes = [len(cell.per_query[convention][measure]) for cell in result.of(methods[0])]
    counted = np.isfinite(values).all(axis=1)
    fold = np.repeat(np.arange(len(sizes)), sizes)[counted]
    if len(fold) < 2:
        return {}
    # The mean over folds weighs a query of a small fold more than one of a large fold.
    n_counted = np.bincount(fold)
    scaled = values[counted] * (len(fold) / (np.count_nonzero(n_counted) * n_counted[fold]))[:, None]
    low, high = (ends.tolist() for ends in bootstrap_interval(scaled))
    return {method: (low[place], high[place]) for place, method in enumerate(methods)}


def _contrasts(
    result: Comparison, convention: str, pairs: Sequence[tuple[str, str]], correction: str, family: str
) -> dict[str, list[Pair]]:
    """Return the tests of each pair of methods, by measure; their intervals are at the level of the test."""
    differences = {
        measure: found
        for measure in result.measures
        if len(found := _differences(result, convention, measure, pairs))
    }
    tests = {measure: Randomisation(found) for measure, found in differences.items()}
    families = [[measure] for measure in tests] if family == "measure" else [[*tests]] if tests else []
    tested: dict[str, list[Pair]] = {measure: [] for measure in result.measures}
    for members in families:
        p = np.concatenate([tests[measure].p for measure in members])
        corrected = {"p_holm": holm(p), "p_bh": benjamini_hochberg(p)}
        corrected["alpha"] = row_alphas(p, correction)
        for place, measure in enumerate(members):
            rows = slice(place * len(pairs), (place + 1) * len(pairs))
            of_measure = {name: values[rows] for name, values in corrected.items()}
            alpha = of_measure.pop("alpha")
            columns = contrasts(differences[measure], result.is_error(measure), tests[measure], alpha)
            columns |= of_measure | {"level": 1.0 - alpha}
            tested[measure] = [
                Pair(
                    method=first,
                    baseline=second,
                    queries=len(differences[measure]),
                    **{name: column[at].item() for name, column in columns.items()},
                )
                for at, (first, second) in enumerate(pairs)
            ]
    return tested


def _differences(
    result: Comparison, convention: str, measure: str, pairs: Sequence[tuple[str, str]]
) -> np.ndarray:
    """Return the differences of each pair on the queries that have a value, (n_queries, n_pairs)."""
    if not pairs:
        return np.empty((0, 0))
    values = {name: result.query_values(convention, measure, name) for pair in pairs for name in pair}
    differences = np.stack([values[first] - values[second] for first, second in pairs], axis=1)
    # A convention may skip queries; these have no value under any method.
    return differences[np.isfinite(differences).all(axis=1)]


def _better_than(tests: Significance, measure: str, error: bool | None) -> dict[str, str]:
    beaten: dict[str, list[str]] = {name: [] for name in tests.letters}
    for pair in tests.pairs[measure]:
        if error is not None and tests.significant(pair) and pair.difference:
            ahead = (pair.difference > 0) != error
            winner, loser = (pair.method, pair.baseline)[:: 1 if ahead else -1]
            beaten[winner].append(tests.letters[loser])
    return {name: "".join(sorted(marks)) for name, marks in beaten.items()}

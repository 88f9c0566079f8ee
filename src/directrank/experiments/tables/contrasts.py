"""Tests of every method of a comparison against every other, on the values of queries."""

import string
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.experiments.options import CORRECTIONS, one_of
from directrank.experiments.tables.layout import is_error
from directrank.experiments.tables.significance import (
    FLIPS,
    LEVEL,
    RESAMPLES,
    bootstrap_interval,
    effect_size,
    holm,
    randomisation_test,
    t_test,
)

if TYPE_CHECKING:
    from directrank.experiments.results import Comparison

ALPHA = 0.05
#: Two methods tie on a query where their values differ by no more than this.
SAME = 1e-12


def significance(
    result: "Comparison", convention: str, *, baseline: str | None = None, correction: str = "holm"
) -> dict[str, Any]:
    """Return which differences between methods are significant, measure by measure.

    The values of all test queries, over all folds, are paired by query. Methods that failed on a fold are
    skipped. Corrections are over the pairs of one measure.

    Parameters
    ----------
    result : Comparison
    convention : str
        One of those in the report.
    baseline : str, optional
        Only pairs with this method are tested; all pairs by default.
    correction : {"holm", "bh"}, default="holm"
        Which adjusted p-value must be below `ALPHA` for a letter.

    Returns
    -------
    dict
        ``letters``: the letter of each method. ``better_than``: by measure and method, the letters of the
        methods that it is significantly better than. ``pairs``: by measure, one dict a pair with
        ``method``, ``baseline``, ``queries``, ``difference`` (mean of method minus baseline), ``low`` and
        ``high`` (its bootstrap interval), ``effect``, ``wins``, ``ties``, ``losses`` (queries), ``p_t``,
        ``p_randomisation``, ``p_holm``, ``p_bh``. ``intervals``: by measure and method, low and high of its
        mean.

    Raises
    ------
    ValueError
        If there is no such baseline or correction.
    """
    one_of("correction", CORRECTIONS)(correction)
    failed = {cell["method"] for cell in result.failed}
    whole = [each for each in result.methods if each not in failed]
    tested = list(combinations(whole, 2))
    if baseline is not None:
        one_of("method", result.methods)(baseline)
        tested = [(each, baseline) for each in whole if each != baseline and baseline in whole]
    letters = dict(zip(result.methods, _letters(len(result.methods)), strict=True))
    pairs = {measure: _contrasts(result, convention, measure, tested) for measure in result.measures}
    return {
        "alpha": ALPHA,
        "correction": correction,
        "baseline": baseline,
        "level": LEVEL,
        "flips": FLIPS,
        "resamples": RESAMPLES,
        "letters": letters,
        "better_than": {
            measure: _better_than(measure, found, letters, f"p_{correction}")
            for measure, found in pairs.items()
        },
        "pairs": pairs,
        "intervals": {measure: _intervals(result, convention, measure, whole) for measure in result.measures},
    }


def _intervals(
    result: "Comparison", convention: str, measure: str, methods: Sequence[str]
) -> dict[str, list[float]]:
    """Return the bootstrap interval of each method's mean over folds; queries are resampled."""
    if not methods:
        return {}
    values = np.stack([per_query(result, convention, measure, each) for each in methods], axis=1)
    sizes = [len(result.cell(methods[0], fold)["per_query"][convention][measure]) for fold in result.folds]
    counted = np.isfinite(values).all(axis=1)
    fold = np.repeat(np.arange(len(sizes)), sizes)[counted]
    if not len(fold):
        return {}
    # The mean over folds weighs a query of a small fold more than one of a large fold.
    n_counted = np.bincount(fold)
    scaled = values[counted] * (len(fold) / (np.count_nonzero(n_counted) * n_counted[fold]))[:, None]
    low, high = (ends.tolist() for ends in bootstrap_interval(scaled))
    return {each: [low[place], high[place]] for place, each in enumerate(methods)}


def per_query(result: "Comparison", convention: str, measure: str, method: str) -> np.ndarray:
    """Return a method's values on the test queries of all folds, (n_queries,), fold by fold."""
    cells = [result.cell(method, fold) for fold in result.folds]
    return np.concatenate([np.array(cell["per_query"][convention][measure], dtype=float) for cell in cells])


def _contrasts(
    result: "Comparison", convention: str, measure: str, pairs: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    from scipy.stats import false_discovery_control

    if not pairs:
        return []
    values = {name: per_query(result, convention, measure, name) for pair in pairs for name in pair}
    differences = np.stack([values[first] - values[second] for first, second in pairs], axis=1)
    # A convention may skip queries; these have no value under any method.
    differences = differences[np.isfinite(differences).all(axis=1)]
    if not len(differences):
        return []
    p = randomisation_test(differences)
    low, high = bootstrap_interval(differences)
    gains = -differences if is_error(measure) else differences
    columns = {
        "difference": differences.mean(axis=0),
        "low": low,
        "high": high,
        "effect": effect_size(differences),
        "wins": (gains > SAME).sum(axis=0),
        "ties": (np.abs(gains) <= SAME).sum(axis=0),
        "losses": (gains < -SAME).sum(axis=0),
        "p_t": t_test(differences),
        "p_randomisation": p,
        "p_holm": holm(p),
        "p_bh": false_discovery_control(p),
    }
    return [
        {"method": first, "baseline": second, "queries": len(differences)}
        | {name: column[place].item() for name, column in columns.items()}
        for place, (first, second) in enumerate(pairs)
    ]


def _better_than(
    measure: str, found: Sequence[dict[str, Any]], letters: dict[str, str], adjusted: str
) -> dict[str, str]:
    beaten: dict[str, list[str]] = {name: [] for name in letters}
    for each in found:
        if each[adjusted] < ALPHA and each["difference"]:
            ahead = (each["difference"] > 0) != is_error(measure)
            winner, loser = (each["method"], each["baseline"])[:: 1 if ahead else -1]
            beaten[winner].append(letters[loser])
    return {name: "".join(sorted(marks)) for name, marks in beaten.items()}


def _letters(n: int) -> list[str]:
    return [*string.ascii_letters[:n], *(f"({place})" for place in range(53, n + 1))]

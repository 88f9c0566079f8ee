"""Whether a ranking is not worse than a baseline by more than a margin, for pipelines that merge on it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.evaluation.significance import ALPHA, POWER, SAME, holm, queries_needed, query_values
from directrank.errors import DataError
from directrank.measures import parse_measure

PASS, FAIL, CANNOT_TELL = "PASS", "FAIL", "CANNOT TELL"


@dataclass(frozen=True)
class Margin:
    """The difference to a baseline by one measure, beside the margin that it may lose.

    Attributes
    ----------
    run, measure : str
    margin : float
        The loss that is still accepted.
    queries : int
        Number of queries that have a value under both.
    difference : float
        Mean gain over the baseline; of an error, such as WPD, the mean reduction.
    low, high : float
        Ends of its 90 % interval, of Student's paired t-test: each is passed by chance in one of 20.
    p : float
        One-sided p-value of a loss above the margin, adjusted by Holm for all measures and runs.
    verdict : {"PASS", "FAIL", "CANNOT TELL"}
        PASS where `low` is above −margin, FAIL where `p` is at most .05.
    queries_needed : int or None
        Queries that tell with a probability of 80 %, if the difference and its spread are as here; None where
        the verdict is clear, or no number would.
    """

    run: str
    measure: str
    margin: float
    queries: int
    difference: float
    low: float
    high: float
    p: float
    verdict: str
    queries_needed: int | None


@dataclass(frozen=True)
class Gate:
    """The verdict over all measures and runs.

    Attributes
    ----------
    baseline : str
    margins : list of Margin

    Examples
    --------
    >>> from directrank import gate
    >>> values = {"AP": [0.5, 0.7, 0.6, 0.8]}, {"AP": [0.9, 0.9, 0.9, 0.9]}
    >>> verdict = gate(*values, {"AP": 0.01})
    >>> verdict.verdict, verdict.margins[0].measure
    ('FAIL', 'AP')
    """

    baseline: str
    margins: list[Margin]

    @property
    def verdict(self) -> str:
        """FAIL if one measure fails, PASS if all pass, CANNOT TELL otherwise."""
        verdicts = {margin.verdict for margin in self.margins}
        return FAIL if FAIL in verdicts else CANNOT_TELL if CANNOT_TELL in verdicts else PASS

    def line(self) -> str:
        """Return the verdict, with the number of queries that would tell."""
        unclear = [margin for margin in self.margins if margin.verdict == CANNOT_TELL]
        if not self.margins:
            return f"{PASS}: the baseline itself is chosen"
        if self.verdict != CANNOT_TELL:
            return self.verdict
        needed = [margin.queries_needed for margin in unclear]
        if None in needed:
            return (
                f"{CANNOT_TELL}: the difference is about the margin itself, which no number of queries tells"
            )
        return (
            f"{CANNOT_TELL}: about {max(map(int, filter(None, needed))):,} queries would, with a probability "
            f"of {POWER:.0%}; there are {min(margin.queries for margin in unclear):,}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "baseline": self.baseline,
            "margins": [asdict(margin) for margin in self.margins],
        }


def gate(new: Any, baseline: Any, margins: Mapping[str, float], *, name: str = "new") -> Gate:
    """Test that a ranking is not worse than a baseline by more than a margin.

    Parameters
    ----------
    new, baseline : Evaluation, or mapping of str to array of shape (n_queries,)
        From `directrank.evaluate` with ``per_query=True``; or values of queries by measure, in one order. A
        query with NaN in either is left out.
    margins : mapping of str to float
        The loss of each measure that is still accepted, such as ``{"nDCG@10": 0.01}``.
    name : str, default="new"
        What the ranking is called.

    Returns
    -------
    Gate

    Raises
    ------
    DataError
        If the queries differ, or fewer than two have a value under both.
    ValueError
        If a margin is negative, or a measure was not evaluated.

    Notes
    -----
    PASS needs every measure to pass at level .05, which needs no correction: it is wrong only if one that is
    worse passes. FAIL needs one measure alone, so that its p-values are adjusted by Holm.

    Examples
    --------
    >>> values = {"nDCG@10": [0.5, 0.7, 0.6, 0.8]}, {"nDCG@10": [0.5, 0.69, 0.6, 0.8]}
    >>> gate(*values, {"nDCG@10": 0.01}).verdict
    'PASS'
    """
    return gated({name: new}, baseline, margins, label="baseline")


def gated(runs: Mapping[str, Any], baseline: Any, margins: Mapping[str, float], *, label: str) -> Gate:
    """Return the verdict on several rankings against one baseline; see `gate`."""
    if not margins:
        raise ValueError("no margin is given; expected one or more, such as nDCG@10=.01")
    rows = []
    for run, values in runs.items():
        for measure, margin in margins.items():
            if not 0 <= margin < math.inf:
                raise ValueError(f"the margin of {measure} is {margin:g}; expected a number of 0 or more")
            first, second = query_values(values, measure), query_values(baseline, measure)
            if first.shape != second.shape or first.ndim != 1:
                raise DataError(
                    f"{run}: values have shapes {first.shape} and {second.shape}; expected one per query"
                )
            gains = (second - first) if parse_measure(measure).is_error else (first - second)
            gains = gains[np.isfinite(gains)]
            if len(gains) < 2:
                raise DataError(
                    f"{run}: {len(gains)} queries have a value of {measure} in both; expected 2 or more"
                )
            rows.append(Gain(run, measure, float(margin), float(gains.mean()), _error(gains), len(gains)))
    return gate_of_gains(rows, label)


class Gain(NamedTuple):
    """A gain over a baseline with its standard error, over so many queries; the degrees are one fewer."""

    run: str
    measure: str
    margin: float
    gain: float
    error: float
    queries: float


def gate_of_gains(gains: Sequence[Gain], baseline: str) -> Gate:
    """Return the verdict on gains over a baseline, by its name."""
    adjusted = holm(np.array([_p_of_loss(one) for one in gains])).tolist()
    return Gate(baseline, [_margin(one, p, len(gains)) for one, p in zip(gains, adjusted, strict=True)])


def _error(gains: np.ndarray) -> float:
    """Return the standard error of the mean; 0 where all gains are equal but for rounding."""
    spread = float(gains.std(ddof=1))
    return spread / math.sqrt(len(gains)) if spread > SAME else 0.0


def _p_of_loss(one: Gain) -> float:
    """Return the one-sided p-value of a gain below −margin; 1 where the error is not known."""
    from scipy.special import stdtr

    if math.isnan(one.error):
        return 1.0
    if one.error == 0.0:
        return float(one.gain >= -one.margin)
    return float(stdtr(one.queries - 1, (one.gain + one.margin) / one.error))


def _margin(one: Gain, p: float, n_tests: int) -> Margin:
    from scipy.special import stdtrit

    reach = -float(stdtrit(one.queries - 1, ALPHA)) * one.error
    low, high = one.gain - reach, one.gain + reach
    verdict = PASS if low > -one.margin else FAIL if p <= ALPHA and high < -one.margin else CANNOT_TELL
    needed = None
    if verdict == CANNOT_TELL and one.error > 0:
        effect = (one.gain + one.margin) / (one.error * math.sqrt(one.queries))
        needed = queries_needed(abs(effect), ALPHA if effect > 0 else ALPHA / n_tests, sides=1)
    n = int(one.queries)
    return Margin(one.run, one.measure, one.margin, n, one.gain, low, high, p, verdict, needed)

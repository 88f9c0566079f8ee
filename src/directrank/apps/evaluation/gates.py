r"""Whether a ranking is not worse than a baseline by more than a margin, for pipelines that merge on it.

Student's t is too small where a few queries lose much: with a negative skewness γ, PASS comes too often. Hall
(JRSS B 1992) corrects :math:`T = (\bar x - \mu) / s` to :math:`T + \gamma T^2 / 3 + \gamma^2 T^3 / 27 +
\gamma / (6 n)`, which grows with T. Where most gains are 0 and γ is an accident this rejects too often,
and so a verdict needs both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.evaluation.significance import ALPHA, POWER, SAME, holm, queries_needed, query_values
from directrank.errors import DataError
from directrank.measures import parse_measure

PASS, FAIL, CANNOT_TELL = "PASS", "FAIL", "CANNOT TELL"
#: Of fewer queries PASS says which losses they may lack: no test corrects for what no query shows.
FEW_QUERIES = 100


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
        Ends of its 90 % interval, each the further of those of Student's paired t-test and of Hall's
        correction for skewness: each is passed by chance in one of 20.
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
        """Return the verdict; with the number of queries that would tell, or what PASS cannot see."""
        unclear = [margin for margin in self.margins if margin.verdict == CANNOT_TELL]
        if not self.margins:
            return f"{PASS}: the baseline itself is chosen"
        if self.verdict == FAIL:
            return FAIL
        if self.verdict == PASS:
            n = max(min(margin.queries for margin in self.margins), 1)
            # With this share of the queries n have none of them in one draw of twenty.
            share = 1.0 - ALPHA ** (1.0 / n)
            return (
                f"{PASS}: {n} queries may hide a loss that fewer than {share:.0%} have"
                if n < FEW_QUERIES
                else PASS
            )
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
    worse passes. FAIL needs one measure alone, so that its p-values are adjusted by Holm. Of fewer than 100
    queries, large losses on few of them may be absent: `Gate.line` says on how many.

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
                    f"{run}: a gate needs 2 queries or more with a value of {measure} in both; there "
                    + ("is 1" if len(gains) else "is none")
                )
            rows.append(
                Gain(
                    run, measure, float(margin), float(gains.mean()), *_error_and_skewness(gains), len(gains)
                )
            )
    return gate_of_gains(rows, label)


class Gain(NamedTuple):
    """A gain over a baseline with its standard error, over so many queries; the degrees are one fewer."""

    run: str
    measure: str
    margin: float
    gain: float
    error: float
    skewness: float
    queries: float


def gate_of_gains(gains: Sequence[Gain], baseline: str) -> Gate:
    """Return the verdict on gains over a baseline, by its name."""
    adjusted = holm(np.array([_p_of_loss(one) for one in gains])).tolist()
    return Gate(baseline, [_margin(one, p, len(gains)) for one, p in zip(gains, adjusted, strict=True)])


def _error_and_skewness(gains: np.ndarray) -> tuple[float, float]:
    """Return the standard error of the mean, 0 where all gains are equal but for rounding, and skewness."""
    n, spread = len(gains), float(gains.std(ddof=1))
    if spread <= SAME:
        return 0.0, 0.0
    cubes = float((((gains - gains.mean()) / spread) ** 3).sum())
    return spread / math.sqrt(n), n / ((n - 1) * (n - 2)) * cubes if n > 2 else 0.0


def _p_of_loss(one: Gain) -> float:
    """Return the one-sided p-value of a gain below −margin; 1 where the error is not known."""
    from scipy.special import stdtr

    if math.isnan(one.error):
        return 1.0
    if one.error == 0.0:
        return float(one.gain >= -one.margin)
    t, bend = (one.gain + one.margin) / one.error, one.skewness / math.sqrt(one.queries)
    corrected = t + bend * t**2 / 3 + bend**2 * t**3 / 27 + bend / 6
    return float(stdtr(one.queries - 1, max(t, corrected)))


def _reach(skewness: float, queries: float) -> float:
    """Return how many standard errors the lower end is below the gain; with −skewness the upper above."""
    from scipy.special import stdtrit

    t, bend = -float(stdtrit(queries - 1, ALPHA)), skewness / math.sqrt(queries)
    if abs(bend) <= SAME:
        return t
    return max(t, 3.0 / bend * (float(np.cbrt(1.0 + bend * (t - bend / 6.0))) - 1.0))


def _margin(one: Gain, p: float, n_tests: int) -> Margin:
    below, above = _reach(one.skewness, one.queries), _reach(-one.skewness, one.queries)
    low, high = one.gain - below * one.error, one.gain + above * one.error
    verdict = PASS if low > -one.margin else FAIL if p <= ALPHA and high < -one.margin else CANNOT_TELL
    needed = None
    if verdict == CANNOT_TELL and one.error > 0:
        effect = (one.gain + one.margin) / (one.error * math.sqrt(one.queries))
        # The correction counts as a larger standard error.
        effect *= _reach(0.0, one.queries) / (below if effect > 0 else above)
        needed = queries_needed(abs(effect), ALPHA if effect > 0 else ALPHA / n_tests, sides=1)
    n = int(one.queries)
    return Margin(one.run, one.measure, one.margin, n, one.gain, low, high, p, verdict, needed)

"""Weights of a few signals, tuned for a measure from those in use, with what is sure about them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.evaluation import FAIL, PASS, Margin, gate
from directrank.apps.evaluation.significance import LEVEL
from directrank.apps.fusion.learning import AMOUNTS, FEWEST, INNER_FOLDS, ascended_weights, random_folds
from directrank.contracts import Measure, Monitor
from directrank.data import QueryGroups
from directrank.errors import DataError, ModelFormatError, check_choice
from directrank.measures import DEFAULT_MEASURE, parse_measure, values_of
from directrank.models import FORMS, SignalWeights
from directrank.storage.atomic import write_atomically
from directrank.timing import tell

#: More signals are for `fit`.
MOST_SIGNALS = 30
#: Half of the window of a step, narrower than for a fusion as the start is near; and the gain of a step below
#: which an ascent ends: what it leaves out is less than the intervals of a thousand queries.
HALF_WIDTH, TOLERANCE = 0.1, 1e-4
#: Digits of weights that are written; what differs relatively by less is the same.
DIGITS, LEAST = 4, 1e-7


@dataclass(frozen=True)
class Signal:
    """A signal's weights.

    Attributes
    ----------
    name : str
    start, tuned : float
        The weight in use and the tuned one. Both sets have the same sum of influences: weight times mean
        deviation inside queries.
    low, high : float
        The 95 % interval of the best weight, by the bootstrap over queries.
    drop : bool
        Whether the interval reaches 0, and held-out queries show no loss, at level .05, without all such
        signals.
    """

    name: str
    start: float
    tuned: float
    low: float
    high: float
    drop: bool


@dataclass(frozen=True)
class Tuning:
    """Tuned weights beside those in use, and the gain on queries that they were not tuned on.

    Attributes
    ----------
    signals : list of Signal
    share : float
        How much of the tuned weights is learned; the rest is the start.
    n_queries : int
    values : tuple of float
        The mean of the measure over held-out queries with the start, and with weights tuned on the others.
    gain : Margin
        Their difference, with its 90 % interval, and the number of queries that would tell.
    file : SignalWeights
        The tuned weights, as they are written.

    Examples
    --------
    >>> from directrank import make_ranking, tune
    >>> tuning = tune(make_ranking(30, 8, 2, random_state=1), resamples=20)
    >>> [signal.name for signal in tuning.signals], tuning.is_shown, tuning.weights == tuning.start
    (['f1', 'f2'], False, True)
    """

    signals: list[Signal]
    share: float
    n_queries: int
    values: tuple[float, float]
    gain: Margin
    file: SignalWeights

    @property
    def start(self) -> dict[str, float]:
        """The weights in use."""
        return {signal.name: signal.start for signal in self.signals}

    @property
    def tuned(self) -> dict[str, float]:
        """The tuned weights."""
        return {signal.name: signal.tuned for signal in self.signals}

    @property
    def drop(self) -> list[str]:
        """The signals that may be dropped, all together."""
        return [signal.name for signal in self.signals if signal.drop]

    @property
    def is_shown(self) -> bool:
        """Whether held-out queries show a gain, at level .05."""
        return self.gain.verdict == PASS

    @property
    def weights(self) -> dict[str, float]:
        """The weights to use: the tuned ones where their gain is shown, else those in use."""
        return self.tuned if self.is_shown else self.start

    def ranker(self, *, accept: bool = False) -> Any:
        """Return the ranker of the weights to use; with `accept` of the tuned ones in any case."""
        return self._written(accept).ranker()

    def save(self, path: str | os.PathLike, *, accept: bool = False) -> None:
        """Write the weights to use as JSON that `load` reads; with `accept` the tuned ones in any case.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        write_atomically(Path(path), self._written(accept).json())

    def _written(self, accept: bool) -> SignalWeights:
        return replace(self.file, weights=self.tuned if accept else self.weights)

    def summary(self) -> list[str]:
        """Return what to do, and why, a sentence each."""
        gain = self.gain
        difference = (
            f"{gain.measure} on held-out queries is {self.values[0]:.4f} with your weights and "
            f"{self.values[1]:.4f} tuned: {gain.difference:+.4f}, 90 % interval {gain.low:+.4f} to "
            f"{gain.high:+.4f}"
        )
        if self.is_shown:
            verdict = f"Take the tuned weights: {difference}."
        else:
            needed = gain.queries_needed if gain.difference > 0 else None
            more = f"; about {needed:,} queries would show it, there are {gain.queries:,}" if needed else ""
            verdict = f"Keep yours: no gain is shown. {difference}{more}."
        names = ", ".join(self.drop)
        return [verdict, *([f"Drop these: {names}. Held-out queries show no loss without."] if names else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "measure": self.gain.measure,
            "form": self.file.form,
            "queries": self.n_queries,
            "share": self.share,
            "signals": [asdict(signal) for signal in self.signals],
            "values": [*self.values],
            "gain": asdict(self.gain),
            "keep_yours": not self.is_shown,
            "drop": self.drop,
            "weights": self.weights,
        }


def tune(
    data: QueryGroups,
    signals: Sequence[str] | None = None,
    *,
    start: Mapping[str, float] | SignalWeights | str | os.PathLike | None = None,
    measure: str | Measure = DEFAULT_MEASURE,
    form: str | None = None,
    resamples: int = 200,
    random_state: int = 0,
) -> Tuning:
    """Tune the weights of a few signals, and say whether they are better than those in use.

    Parameters
    ----------
    data : QueryGroups
        Judged documents with the signals as columns; see `load_data` and `from_frame`.
    signals : sequence of str, optional
        At most 30 columns; in a sum ``log(NAME)`` is sign(x) · log(1 + abs(x)). By default those of `start`,
        or all.
    start : mapping of str to float, SignalWeights or path, optional
        The weights in use, not negative; signals without one start at 0. By default all have the same
        influence.
    measure : str or Measure, default="nDCG@10"
    form : {"sum", "product", "scaled"}, optional
        See `directrank.models.SignalWeights`; by default that of `start`, or a sum.
    resamples : int, default=200
        Resamples of queries for the intervals.
    random_state : int, default=0

    Returns
    -------
    Tuning

    Raises
    ------
    DataError
        If a signal is missing in some documents, holds texts, is the same for all documents of each query or
        is the relevance itself; or fewer than five queries have documents of different relevance.
    ValueError
        If there is no such signal, there are more than 30, or a weight is negative.

    Notes
    -----
    Coordinate ascent moves one weight at a time by the exact step on the measure. Weights are compared as
    influences with the sum 1: weight times mean deviation inside queries. The learned ones are drawn towards
    the start, n of them n / (n + 10), n / (n + 40) or n / (n + 160), chosen by cross-validation inside the
    queries that they are learned from. The gain is that of weights from four fifths of the queries on the
    other fifth, and it is shown where the lower end of its 90 % interval, of Student's paired t-test, is
    above 0: by chance in at most one of 20. Intervals of weights are of the learned ones, before they are
    drawn towards the start: plain percentiles of the bootstrap over queries, because weights are no means.

    Examples
    --------
    >>> from directrank import QueryGroups, tune
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> data = QueryGroups(X, (X[:, 0] > 1) * 1, np.arange(600) // 10, feature_names=["bm25", "clicks"])
    >>> tuning = tune(data, start={"bm25": 1, "clicks": 1}, resamples=20)
    >>> tuning.is_shown, tuning.drop
    (True, ['clicks'])
    """
    in_use = weights_in_use(start)
    names = list(signals or (in_use.weights if in_use else _names_of(data)))
    form = form or (in_use.form if in_use else "sum")
    check_choice("form", form, FORMS)
    chosen = parse_measure(measure).with_largest_grade(data.queries.max_relevance)
    if chosen.is_error:
        raise ValueError(f"{chosen.name} is an error, of which less is better; tune for nDCG@10, AP, …")
    if resamples < 20:
        raise ValueError(f"resamples={resamples}: expected 20 or more")
    _check_names(names, in_use, form)
    columns = _columns(data, names, form)
    deviations = _deviations(columns, names, data)
    weights = np.array(
        [1.0 / d for d in deviations] if in_use is None else [in_use.weights.get(name, 0.0) for name in names]
    )
    search = _Search(
        chosen, data, (columns / deviations).astype(np.float32), weights * deviations, random_state
    )
    amount, held_out = search.amount(frozenset()), search.held_out()
    of_start = search.values(search.start)
    gain = search.gain(held_out, of_start)
    unit, share = (weights @ deviations) / deviations, search.share(frozenset(), amount)
    tuned = search.drawn(search.learned(frozenset()), share) * unit
    low, high = np.quantile(search.resampled(resamples), [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0) * unit
    drop = search.dropped(low <= 0.0, amount)
    rows = [
        Signal(name, float(first), rounded(best), rounded(least), rounded(most), bool(out))
        for name, first, best, least, most, out in zip(names, weights, tuned, low, high, drop, strict=True)
    ]
    reading = data.reading.to_dict() if getattr(data, "reading", None) else {}
    written = SignalWeights(
        weights={row.name: row.tuned for row in rows},
        form=form,
        measure=chosen.name,
        n_features=None if data.feature_names else data.n_features,
        reading={key: value for key, value in reading.items() if key != "drop"},
    )
    means = float(of_start.mean()), float(held_out.mean())
    return Tuning(rows, share, data.n_queries, means, gain, written)


def rounded(weight: float) -> float:
    """Return a weight with the digits that are written."""
    return float(f"{weight:.{DIGITS}g}")


def weights_in_use(start: object) -> SignalWeights | None:
    """Return weights that are given by name, in a file, or not at all."""
    if start is None or isinstance(start, SignalWeights):
        return start
    if isinstance(start, Mapping):
        return SignalWeights(weights={str(name): float(weight) for name, weight in start.items()})
    path = Path(os.fspath(start))  # pyright: ignore[reportArgumentType, reportCallIssue]
    try:
        weights = SignalWeights.of_json(path.read_bytes())
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: {error}") from None
    if weights is None:
        raise ModelFormatError(f'{path}: no weights; expected JSON such as {{"bm25": 1, "recency": 0.3}}')
    return weights


def _names_of(data: QueryGroups) -> Sequence[str]:
    return data.feature_names or [f"f{number + 1}" for number in range(data.n_features)]


def _check_names(names: Sequence[str], in_use: SignalWeights | None, form: str) -> None:
    if not 1 <= len(names) <= MOST_SIGNALS:
        raise ValueError(
            f"{len(names)} signals: expected 1 to {MOST_SIGNALS}; name them (--signals), or train by fit"
        )
    if len({*names}) < len(names):
        raise ValueError("a signal is given twice; give it once")
    if in_use is None:
        return
    for name, weight in in_use.weights.items():
        if name not in names:
            raise ValueError(f"start: {name!r} is none of the signals; name it among them, or leave it out")
        if not 0 <= weight < np.inf:
            raise ValueError(
                f"start: the weight of {name!r} is {weight:g}; expected a finite one of 0 or more. Where "
                "less of a signal is better, give a column of it with the sign turned"
            )
    if not any(in_use.weights.values()):
        raise ValueError("start: all weights are 0; give one above 0, or omit start")


def _columns(data: QueryGroups, names: Sequence[str], form: str) -> np.ndarray:
    """Return the signals as the form adds them: the scores by each alone, float64 (n_docs, n_signals)."""
    known, n_features = _names_of(data), None if data.feature_names else data.n_features
    columns = np.empty((data.n_docs, len(names)))
    for at, name in enumerate(names):
        alone = SignalWeights(weights={name: 1.0}, form=form, n_features=n_features)
        ((column, _),) = alone.columns()
        if data.encoding is not None and column in data.encoding.columns:
            raise DataError(
                f"signal {column!r} holds categories, which have no weight; leave it out, or train by fit"
            )
        check_choice("signal", column, known)
        values = data.X[:, list(known).index(column)]
        gaps = np.flatnonzero(np.isnan(values))
        if len(gaps):
            raise DataError(
                f"signal {column!r} has no value in {len(gaps)} of {len(values)} documents, the first "
                f"document {gaps[0] + 1}, of query {data.qid[gaps[0]]}; say what stands for it: --missing 0 "
                "(in load_data missing=0), or leave it out"
            )
        if form == "product" and values.min() < 0:
            raise DataError(f"signal {column!r} has values below 0, which are no factors; tune a sum")
        columns[:, at] = data.to_inner(alone.ranker().predict(data))
    return columns


def _deviations(columns: np.ndarray, names: Sequence[str], data: QueryGroups) -> np.ndarray:
    """Return the mean deviation of each signal inside queries; refuse those that tell nothing, or all."""
    queries = data.queries
    of_query, sizes = queries.indptr[:-1], queries.sizes[:, None]
    means = np.repeat(np.add.reduceat(columns, of_query) / sizes, queries.sizes, axis=0)
    deviations = np.sqrt(np.add.reduceat((columns - means) ** 2, of_query) / sizes).mean(axis=0)
    for name, column, deviation in zip(names, columns.T, deviations, strict=True):
        if not deviation > LEAST * np.abs(column).max():
            raise DataError(f"signal {name!r} is the same for all documents of a query; leave it out")
        if np.ptp(queries.relevance) > 0 and np.corrcoef(column, queries.relevance)[0, 1] > 1 - LEAST:
            raise DataError(f"signal {name!r} is the relevance itself; leave it out")
    return deviations


class LastStep(Monitor):
    """A monitor that prefers each step to those before it: the steps follow averages of the measure."""

    def __init__(self, features: np.ndarray):
        self.features, self.steps = features, 0

    def __call__(self, scores: np.ndarray) -> float:
        """Return the number of the step."""
        self.steps += 1
        return float(self.steps)


class _Search:
    """Weights learned from some folds of the queries, each set once.

    Features have the mean deviation 1 inside queries, so that weights are influences, with the sum 1.
    """

    def __init__(
        self, measure: Measure, data: QueryGroups, features: np.ndarray, start: np.ndarray, seed: int
    ):
        self.measure, self.queries, self.features, self.seed = measure, data.queries, features, seed
        self.start = start / start.sum()
        usable = int((~data.queries.single_grade).sum())
        if usable < FEWEST:
            raise DataError(
                f"{usable} queries have documents of different relevance; {FEWEST} or more are needed to tune"
            )
        self.folds = random_folds(data.queries, min(INNER_FOLDS, data.n_queries), np.random.default_rng(seed))
        self.every = frozenset(range(self.folds.max() + 1))
        self._learned: dict[Any, np.ndarray] = {}

    def values(self, weights: np.ndarray) -> np.ndarray:
        """Return the measure of each query."""
        return values_of([self.measure], self.queries, self.features @ weights)[0]

    def gain(self, values: np.ndarray, baseline: np.ndarray) -> Margin:
        """Return the gain of values of queries over others, with a margin of 0."""
        name = self.measure.name
        return gate({name: values}, {name: baseline}, {name: 0.0}, name="tuned").margins[0]

    def _ascended(
        self, of_queries: np.ndarray, signals: np.ndarray | slice, seed: Sequence[int]
    ) -> np.ndarray:
        """Return the weights that are learned from queries of some weights; the start if nothing can be."""
        start, found = self.start[signals], None
        if of_queries.any():
            features = np.ascontiguousarray(self.features[:, signals])
            found = ascended_weights(
                self.measure, self.queries, features, np.random.default_rng([self.seed, *seed]), start=start,
                weights=of_queries, monitor=LastStep(features), half_width=HALF_WIDTH, tolerance=TOLERANCE,
                runs=1,
            )  # fmt: skip
        weights = np.zeros(len(self.start))
        weights[signals] = start if found is None else found
        tell(self.measure.name, float(np.average(self.values(weights), weights=of_queries)))
        return weights

    def learned(self, without: frozenset[int]) -> np.ndarray:
        """Return the weights of all folds but some."""
        if without not in self._learned:
            of_queries = (~np.isin(self.folds, list(without))).astype(float)
            self._learned[without] = self._ascended(of_queries, slice(None), sorted(without))
        return self._learned[without]

    def share(self, without: frozenset[int], amount: int) -> float:
        """Return how much of the weights of all folds but some is learned."""
        n = int((~np.isin(self.folds, list(without))).sum())
        return n / (n + amount)

    def drawn(self, learned: np.ndarray, share: float) -> np.ndarray:
        """Return weights of which a share is learned and the rest the start."""
        return share * learned + (1.0 - share) * self.start

    def amount(self, without: frozenset[int]) -> int:
        """Return the amount of the start that is best inside all folds but some."""
        rest = self.every - without
        of_amount = []
        for amount in AMOUNTS:
            values = [
                self.values(self.drawn(self.learned(inner), self.share(inner, amount)))[self.folds == fold]
                for fold in sorted(rest)
                for inner in [without | {fold}]
            ]
            of_amount.append(np.concatenate(values).mean())
        return AMOUNTS[int(np.argmax(of_amount))]

    def held_out(self) -> np.ndarray:
        """Return the measure of each query with the weights that are tuned on the other folds."""
        out = np.empty(self.queries.n_queries)
        for fold in sorted(self.every):
            rest = frozenset({fold})
            weights = self.drawn(self.learned(rest), self.share(rest, self.amount(rest)))
            out[self.folds == fold] = self.values(weights)[self.folds == fold]
        return out

    def resampled(self, n: int) -> np.ndarray:
        """Return the weights that are learned from resamples of the queries, (n, n_signals)."""
        rng, n_queries = np.random.default_rng(self.seed), self.queries.n_queries
        counts = rng.multinomial(n_queries, np.full(n_queries, 1 / n_queries), size=n).astype(float)
        return np.array([self._ascended(of, slice(None), [1 << 16, at]) for at, of in enumerate(counts)])

    def dropped(self, candidates: np.ndarray, amount: int) -> np.ndarray:
        """Return which candidates may be dropped together: held-out queries show no loss.

        All are tried at once, then one by one, those of the least learned weight first.
        """
        order = [at for at in np.argsort(self.learned(frozenset()), kind="stable") if candidates[at]]
        order = order[: len(candidates) - 1]  # One signal stays.
        whole, out = self._without(np.array([], int), amount), np.zeros(len(candidates), bool)
        for some in ([order] if len(order) > 1 else []) + [[at] for at in order]:
            tried = out.copy()
            tried[some] = True
            if self.gain(self._without(np.flatnonzero(tried), amount), whole).verdict != FAIL:
                out = tried
            if len(some) == len(order) and out.any():
                break
        return out

    def _without(self, signals: np.ndarray, amount: int) -> np.ndarray:
        """Return the measure of each held-out query, tuned without some signals."""
        out, start = np.empty(self.queries.n_queries), self.start.copy()
        start[signals] = 0.0
        start = start / start.sum() if start.any() else start
        rest = np.setdiff1d(np.arange(len(start)), signals)
        for fold in sorted(self.every):
            of_fold = self.folds == fold
            if len(signals):
                learned = self._ascended((~of_fold).astype(float), rest, [2 << 16, fold, *signals.tolist()])
            else:
                learned = self.learned(frozenset({fold}))
            share = self.share(frozenset({fold}), amount) if start.any() else 1.0
            out[of_fold] = self.values(share * learned + (1.0 - share) * start)[of_fold]
        return out

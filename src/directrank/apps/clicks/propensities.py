r"""Propensities of ranks by the conditional likelihood of clicks, with an effect for each item.

An item, a query with a document, has n impressions and c clicks at each rank. By the position-based model the
probability of a click is p_k r_d. Given an item's clicks at all ranks, their places are multinomial:

.. math:: \ell(\theta) = \sum_d \sum_k c_{dk} \Big[\theta_k - \log \sum_l n_{dl} e^{\theta_l}\Big],
    \qquad \theta = \log p,\ \theta_1 = 0

which is concave and free of the relevance r. Only the conditional mean of clicks is used: clicks may repeat.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import f, gamma, t

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.evaluation.significance import LEVEL, p_value
from directrank.errors import DataError, MethodError, listed
from directrank.storage.strict_json import JSONObject

#: Newton's method stops where the last step promised so little.
DECREMENT, MOST_STEPS = 1e-10, 100
#: Queries of more leverage have their errors corrected by a solution, all others by a series.
LEVERAGE = 0.02
#: Propensities of a file are at most this, and at least its reciprocal: weights of clicks beyond overflow.
LARGEST = 1e9
#: Cells whose errors are computed at a time.
BLOCK = 1 << 19
#: Drawn tables of the test of one curve, and the cells that all of them have.
DRAWS, DRAWN_CELLS = (20, 200), 4_000_000
#: Where the test is below it, the output says that one curve does not fit all queries.
ALARM = 0.01
#: Errors by clusters need so many queries, and so many of equal weight.
LEAST_CLUSTERS, LEAST_EFFECTIVE = 5, 2.0
#: Rounding of a covariance in a file, relative to its largest variance.
ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class Propensities:
    """The probability that each rank is examined, up to a factor, with errors.

    Attributes
    ----------
    method : str
        How they were estimated.
    position : ndarray of shape (n_ranks,), int64
        Ranks from 1.
    propensity : ndarray of shape (n_ranks,)
        p of each rank; the first rank of each component has 1, a rank alone NaN.
    components : tuple of tuple of int
        Sets of ranks within which propensities are comparable; one if all are identified.
    covariance : ndarray of shape (n_ranks, n_ranks), or None
        Of log p, by clusters of queries (CR3); 0 between components. None for methods without errors.
    model_covariance : ndarray of shape (n_ranks, n_ranks), or None
        Of log p, if the model is true: the inverse of the second derivative.
    effective_queries : ndarray of shape (n_ranks,), or None
        The number of equal queries that would leave as much doubt about the errors of a rank.
    n_clicks, n_queries : int
        Clicks on items that were seen at several ranks, and the queries that have some.
    one_curve : float
        The probability of errors by clusters as large as these if one curve fits all queries; NaN untested.
    by_model : bool
        Whether queries are too few for errors by clusters: `covariance` is that of the model.
    offset : ndarray of shape (n_ranks,), or None
        β of the model of trust, a click being α R + β; None for the position-based model, where it is 0.
    influence : ndarray of shape (n_queries, n_ranks), or None
        What each query of the log adds to log p.
    qid : ndarray of shape (n_queries,), or None
        The names of the queries of `influence` and `group`.
    replicates, group : ndarray of shape (n_groups, 2 n_ranks) and (n_queries,), or None
        Of the model of trust: α and β without each group of queries, and the group of each query.
    curves : mapping of str to Propensities, or None
        The propensities of each context, which the arrays join one after the other; None for one curve.
    """

    method: str
    position: np.ndarray
    propensity: np.ndarray
    components: tuple[tuple[int, ...], ...]
    covariance: np.ndarray | None = None
    model_covariance: np.ndarray | None = None
    effective_queries: np.ndarray | None = None
    n_clicks: int = 0
    n_queries: int = 0
    one_curve: float = float("nan")
    by_model: bool = False
    offset: np.ndarray | None = None
    influence: Any = field(default=None, repr=False)
    qid: Any = field(default=None, repr=False)
    replicates: Any = field(default=None, repr=False)
    group: Any = field(default=None, repr=False)
    curves: "Mapping[str, Propensities] | None" = field(default=None, repr=False)

    @classmethod
    def of_contexts(cls, curves: "Mapping[str, Propensities]") -> "Propensities":
        """Join the propensities of contexts, such as devices.

        Parameters
        ----------
        curves : mapping of str to Propensities
            By the names that a log has for its contexts.

        Returns
        -------
        Propensities

        Raises
        ------
        DataError
            If those of a context are not identified, or only some have offsets.
        """
        for name, curve in curves.items():
            if not curve.identified:
                line = curve.components_line()
                raise DataError(f"context {name!r}: propensities are not identified: {line}")
        parts = list(curves.values())
        if len({part.offset is None for part in parts}) != 1:
            raise DataError("propensities of contexts: some have offsets (trust bias) and others none")

        def joined(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if any(value is None for value in values) else np.concatenate(values)

        def block(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if any(value is None for value in values) else block_diag(*values)

        qid, influence = None, None
        if all(part.influence is not None for part in parts):
            qid = np.unique(np.concatenate([part.qid for part in parts]))
            influence = np.zeros((len(qid), sum(len(part.position) for part in parts)))
            start = 0
            for part in parts:
                columns = slice(start, start + len(part.position))
                influence[np.searchsorted(qid, part.qid), columns] = part.influence
                start = columns.stop
        tests = [part.one_curve for part in parts if np.isfinite(part.one_curve)]
        return cls(
            parts[0].method, joined("position"), joined("propensity"), (), block("covariance"),
            block("model_covariance"), joined("effective_queries"), sum(part.n_clicks for part in parts),
            max(part.n_queries for part in parts), min(len(tests) * min(tests, default=np.nan), 1.0),
            any(part.by_model for part in parts), joined("offset"), influence, qid, curves=curves,
        )  # fmt: skip

    @property
    def rejected(self) -> bool:
        """Whether the test that one curve fits all queries rejects it."""
        return self.one_curve < ALARM

    def doubts(self) -> list[str]:
        """Return what every figure that rests on these propensities must say."""
        lines = []
        if self.rejected:
            lines.append(
                f"one curve of propensities does not fit all queries (goodness of fit "
                f"p {p_value(self.one_curve)}): what rests on it may be wrong; try --context with what may "
                "change the curve, or --trust"
            )
        if self.by_model:
            lines.append(
                f"{self.n_queries} {'query is' if self.n_queries == 1 else 'queries are'} too few for errors "
                "by clusters: errors of propensities are those of the model"
            )
        return lines

    @property
    def identified(self) -> bool:
        """Whether the log compares all of its ranks, two or more."""
        if self.curves is not None:
            return all(curve.identified for curve in self.curves.values())
        return len(self.components) == 1 and len(self.components[0]) > 1

    @property
    def errors(self) -> np.ndarray:
        """The standard error of each log p by clusters of queries, NaN where there is none."""
        return _deviations(self.covariance, len(self.position))

    @property
    def model_errors(self) -> np.ndarray:
        """The standard error of each log p if the model is true, NaN where there is none."""
        return _deviations(self.model_covariance, len(self.position))

    @property
    def ratio(self) -> float:
        """Errors by clusters over those of the model, the root of the mean ratio of variances; or NaN."""
        if self.by_model:
            return float("nan")
        with np.errstate(invalid="ignore"):
            ratios = (self.errors / self.model_errors) ** 2
        some = ratios[np.isfinite(ratios)]
        return float(np.sqrt(some.mean())) if len(some) else float("nan")

    def interval(self, confidence: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the interval of each propensity, by clusters with t of effective queries − 1."""
        freedom = 1.0 if self.effective_queries is None else np.maximum(self.effective_queries - 1.0, 1.0)
        width = t.ppf(0.5 + confidence / 2.0, freedom) * self.errors
        return self.propensity * np.exp(-width), self.propensity * np.exp(width)

    def require_identified(self) -> "Propensities":
        """Return these propensities.

        Raises
        ------
        DataError
            If the log does not compare all of its ranks.
        """
        if not self.identified:
            raise DataError(f"propensities are not identified: {self.components_line()}")
        return self

    def places(self, ranks: np.ndarray, source: str) -> np.ndarray:
        """Return where each rank is in `position`; ranks of a log may leave some out, as a page with adverts.

        Raises
        ------
        DataError
            If a rank has no propensity; it names the log by `source`. Or if propensities are of contexts.
        """
        if self.curves is not None:
            raise DataError(f"{source}: propensities are of each context; take those of one (curves)")
        missing = np.setdiff1d(ranks, self.position)
        if len(missing):
            raise DataError(
                f"{source}: has rank {missing[0]}, but propensities are of ranks "
                f"{ranges(self.position.tolist())}; read the first ranks alone (--ranks), or "
                "estimate propensities of all"
            )
        return np.searchsorted(self.position, ranks)

    def of_cells(self, log: ClickLog) -> np.ndarray:
        """Return where the rank of each cell of a log is, in the context of the cell where they differ.

        Raises
        ------
        DataError
            If a rank, or a context, has no propensity.
        """
        if self.curves is None:
            return self.places(log.rank, log.source)
        if log.contexts == ("",) and "" not in self.curves:
            raise DataError(
                f"{log.source}: propensities are of each context ({', '.join(self.curves)}); name the column "
                "of contexts by --context"
            )
        start, out = 0, np.full(len(log.rank), -1)
        for name, curve in self.curves.items():
            if name in log.contexts:
                here = log.context == log.contexts.index(name)
                out[here] = start + curve.places(log.rank[here], f"{log.source}, context {name!r}")
            start += len(curve.position)
        if (out < 0).any():
            name = log.contexts[int(log.context[np.argmin(out)])]
            raise DataError(
                f"{log.source}: no propensities of context {name!r}; there are those of "
                f"{', '.join(self.curves)}"
            )
        return out

    def components_line(self) -> str:
        """Return which ranks are compared with each other."""
        return comparison_line(self.components)

    def to_dict(self) -> JSONObject:
        """Return what JSON holds: propensities by position, components, and the figures of their errors."""
        if self.curves is not None:
            return {"contexts": {name: curve.to_dict() for name, curve in self.curves.items()}}
        low, high = self.interval()
        columns = {
            "position": self.position, "propensity": self.propensity, "low": low, "high": high,
            "error": self.errors, "model_error": self.model_errors,
        }  # fmt: skip
        if self.offset is not None:
            columns["offset"] = self.offset
        rows = [
            dict(zip(columns, row, strict=True))
            for row in zip(*map(_json_numbers, columns.values()), strict=True)
        ]
        return {
            "method": self.method, "identified": self.identified, "propensities": rows,
            "components": [list(part) for part in self.components],
            "clicks": self.n_clicks, "queries": self.n_queries,
            "effective_queries": _json_numbers([np.min(self.effective_queries[1:], initial=np.inf)])[0]
            if self.effective_queries is not None else None,
            "ratio": _json_numbers([self.ratio])[0], "one_curve": _json_numbers([self.one_curve])[0],
            "rejected": bool(self.rejected), "by_model": bool(self.by_model), "doubts": self.doubts(),
            "covariance": None if self.covariance is None else self.covariance.tolist(),
        }  # fmt: skip

    @classmethod
    def of_dict(cls, content: Any, source: str = "propensities") -> "Propensities":
        """Return propensities from what `to_dict` returns, or a list of positions and propensities.

        Raises
        ------
        DataError
            If there are none, a rank is no whole number from 1 or is there twice, a propensity is not from
            1e-9 to 1e9, they are not identified, or the covariance or a figure of the test is none.
        """
        rows = content.get("propensities") if isinstance(content, dict) else content
        facts = content if isinstance(content, dict) else {}
        if "contexts" in facts:
            if not isinstance(facts["contexts"], dict) or not facts["contexts"]:
                raise DataError(f"{source}: contexts: expected propensities by the name of each context")
            return cls.of_contexts({
                name: cls.of_dict(part, f"{source}, context {name!r}")
                for name, part in facts["contexts"].items()
            })  # fmt: skip
        try:
            ranks = [row["position"] for row in rows or ()]
            values = [row["propensity"] for row in rows or ()]
            offset = [row.get("offset") for row in rows or ()]
        except (TypeError, KeyError, AttributeError) as error:
            raise DataError(
                f"{source}: expected a list of position and propensity, as `directrank propensities --json` "
                f"prints ({error!r})"
            ) from None
        parts = facts.get("components")
        if isinstance(parts, list) and len(parts) > 1 and all(isinstance(part, list) for part in parts):
            raise DataError(f"{source}: these propensities are not identified: {comparison_line(parts)}")
        # A page with adverts leaves ranks out.
        whole = all(
            isinstance(rank, int | np.integer) and rank is not True and 1 <= rank <= LARGEST for rank in ranks
        )
        if not ranks or not whole or len(set(ranks)) < len(ranks):
            raise DataError(
                f"{source}: expected positions, whole numbers from 1, each once, not "
                f"{listed(ranks) or 'none'}"
            )
        for name, numbers in (("propensity", values), ("offset", offset)):
            valid = [
                type(number) in (int, float)
                and (1 / LARGEST <= number <= LARGEST or (name == "offset" and abs(number) <= LARGEST))
                for number in numbers
            ]
            if not all(valid) and (name != "offset" or set(offset) != {None}):
                rule = "a number from 1e-9 to 1e9" if name == "propensity" else "a number of all ranks"
                place = valid.index(False)
                raise DataError(
                    f"{source}: position {ranks[place]}: {name} {numbers[place]!r}; expected {rule}"
                )
        order = np.argsort(ranks)
        position = np.array(ranks)[order]
        if parts is not None and [sorted(part) for part in _lists(parts)] != [position.tolist()]:
            raise DataError(f"{source}: components {str(parts)[:40]}; expected one list of all positions")
        covariance = None if facts.get("covariance") is None else _covariance(facts, len(ranks), source)
        one_curve = facts.get("one_curve")
        if one_curve is not None and not (type(one_curve) in (int, float) and 0 <= one_curve <= 1):
            raise DataError(f"{source}: one_curve {one_curve!r}; expected a probability, or null")
        if type(facts.get("by_model", False)) is not bool:
            raise DataError(f"{source}: by_model {facts['by_model']!r}; expected true or false")
        n_queries = facts.get("queries", 0)
        return cls(
            str(facts.get("method", "given")), position, np.array(values, float)[order],
            (tuple(position.tolist()),),
            covariance if covariance is None else covariance[np.ix_(order, order)],
            n_queries=n_queries if type(n_queries) is int else 0,
            one_curve=float("nan") if one_curve is None else float(one_curve),
            by_model=facts.get("by_model", False),
            offset=None if None in offset else np.array(offset, float)[order],
        )  # fmt: skip


def _deviations(covariance: np.ndarray | None, n: int) -> np.ndarray:
    return np.full(n, np.nan) if covariance is None else np.sqrt(np.maximum(np.diag(covariance), 0.0))


def _lists(parts: object) -> list[list[Any]]:
    """Return a list of lists of whole numbers, empty for anything else."""
    whole = isinstance(parts, list) and all(
        isinstance(part, list) and all(type(rank) is int for rank in part) for part in parts
    )
    return parts if whole else []  # pyright: ignore[reportReturnType]


def _covariance(facts: Mapping[str, Any], n: int, source: str) -> np.ndarray:
    """Return the covariance of a file: symmetric, and without a negative variance in any direction."""
    try:
        covariance = np.asarray(facts["covariance"])
    except (ValueError, OverflowError):  # rows of different lengths, or numbers beyond
        covariance = np.zeros(0)
    if (
        covariance.dtype.kind not in "if" or covariance.shape != (n, n)
        or not np.isfinite(covariance).all() or np.abs(covariance).max() > LARGEST
    ):  # fmt: skip
        raise DataError(f"{source}: expected a covariance of {n} rows and columns of numbers")
    covariance = covariance.astype(float)
    least = ROUNDING * np.abs(covariance).max()
    if np.abs(covariance - covariance.T).max() > least:
        raise DataError(f"{source}: the covariance is not symmetric")
    covariance = (covariance + covariance.T) / 2.0
    if (smallest := float(np.linalg.eigvalsh(covariance).min())) < -least:
        raise DataError(
            f"{source}: the covariance has a variance of {smallest:.3g} in one direction; expected 0 or more"
        )
    return covariance


def has_clusters(weights: np.ndarray) -> bool:
    """Return whether queries of some weights are enough for errors by clusters."""
    n = np.count_nonzero(weights)
    return bool(n >= LEAST_CLUSTERS and weights.sum() ** 2 >= LEAST_EFFECTIVE * (weights**2).sum())


def _json_numbers(values: object) -> list[float | int | None]:
    """Return numbers of JSON: None for what is not finite."""
    return [value if np.isfinite(value) else None for value in np.asarray(values).tolist()]


def comparison_line(components: Sequence[Sequence[int]]) -> str:
    """Return which ranks are compared with each other, and what to do if not all are."""
    parts = " and ".join(map(ranges, components))
    if len(components) == 1:
        ranks = len(components[0])
        return "all ranks are compared" if ranks > 1 else f"rank {parts} alone was shown: nothing is compared"
    return (
        f"ranks {parts} are never compared: no document was shown at ranks of two parts and clicked in each; "
        "log random swaps of documents, or a second ranker, or read the first ranks alone"
    )


def ranges(ranks: Sequence[int]) -> str:
    """Return ranks in words, such as ``1-3, 7``."""
    starts = [rank for rank in ranks if rank - 1 not in ranks]
    ends = [rank for rank in ranks if rank + 1 not in ranks]
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in zip(starts, ends, strict=True))


class Comparisons:
    """The items of a log that were shown at several of some ranks and clicked; what the likelihood reads."""

    def __init__(self, log: ClickLog, ranks: Sequence[int]):
        place = np.full(log.n_ranks + 2, -1)
        place[list(ranks)] = np.arange(len(ranks))
        cells = log.cells()
        cells = cells.where(place[cells.rank] >= 0)
        compared = (np.bincount(cells.item, minlength=log.n_items) > 1) & (cells.sums(cells.clicks) > 0)
        cells = cells.where(compared[cells.item])
        items, self.item = np.unique(cells.item, return_inverse=True)
        self.n_ranks, self.n_items = len(ranks), len(items)
        self.rank, self.n, self.c = (
            place[cells.rank],
            cells.impressions.astype(float),
            cells.clicks.astype(float),
        )
        self.start = np.append(np.flatnonzero(np.diff(self.item, prepend=-1)), len(self.item))
        self.total = np.add.reduceat(self.c, self.start[:-1]) if len(items) else np.zeros(0)
        self.queries, self.query = np.unique(log.query[items], return_inverse=True)

    def shares(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the likelihood and the multinomial probability of each cell."""
        mass = self.n * np.exp(theta[self.rank])
        of_item = np.add.reduceat(mass, self.start[:-1])
        return float(self.c @ theta[self.rank] - self.total @ np.log(of_item)), mass / of_item[self.item]

    def likelihoods(self, theta: np.ndarray) -> np.ndarray:
        """Return the likelihood of each query."""
        of_item = np.log(np.add.reduceat(self.n * np.exp(theta[self.rank]), self.start[:-1]))
        by_item = np.add.reduceat(self.c * theta[self.rank], self.start[:-1]) - self.total * of_item
        return np.bincount(self.query, by_item, len(self.queries))

    def matrix(self, shares: np.ndarray) -> csr_array:
        """Return the probabilities as a matrix of items and ranks."""
        return csr_array((shares, self.rank, self.start), shape=(self.n_items, self.n_ranks))

    def information(self, shares: np.ndarray) -> np.ndarray:
        """Return minus the second derivative of the likelihood."""
        rows = self.matrix(shares)
        product = (rows.T @ rows.multiply(self.total[:, None]).tocsr()).toarray()
        expected = np.bincount(self.rank, shares * self.total[self.item], self.n_ranks)
        return np.diag(expected) - product

    def maximum(self) -> np.ndarray:
        """Return θ of the largest likelihood, by Newton's method; the first rank has 0."""
        theta = np.zeros(self.n_ranks)
        value, shares = self.shares(theta)
        for _ in range(MOST_STEPS):
            excess = self.c - shares * self.total[self.item]
            gradient = np.bincount(self.rank, excess, self.n_ranks)[1:]
            step = np.append(0.0, np.linalg.solve(self.information(shares)[1:, 1:], gradient))
            decrement = float(gradient @ step[1:])
            if decrement < DECREMENT:
                return theta
            size = 1.0
            while True:
                ahead, ahead_shares = self.shares(theta + size * step)
                if ahead >= value + 0.25 * size * decrement or size < 1e-8:
                    break
                size /= 2.0
            theta, value, shares = theta + size * step, ahead, ahead_shares
        raise MethodError("the likelihood of propensities has no maximum that Newton's method reaches")

    def scores(self, excess: np.ndarray) -> np.ndarray:
        """Return the derivative of the likelihood of each query, (n_queries, n_ranks − 1)."""
        key = self.query[self.item] * self.n_ranks + self.rank
        dense = np.bincount(key, excess, len(self.queries) * self.n_ranks)
        return dense.reshape(len(self.queries), self.n_ranks)[:, 1:]

    @cached_property
    def blocks(self) -> list[tuple[slice, slice, slice]]:
        """Runs of queries, their items and their cells, of which each fits in memory for all ranks."""
        first_item = np.append(np.flatnonzero(np.diff(self.query, prepend=-1)), self.n_items)
        work = first_item * self.n_ranks
        cuts = np.unique(
            np.append(np.searchsorted(work, np.arange(0, work[-1], 8 * BLOCK)), len(self.queries))
        )
        return [
            (
                slice(a, b),
                slice(first_item[a], first_item[b]),
                slice(self.start[first_item[a]], self.start[first_item[b]]),
            )
            for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Errors:
    """Errors of θ but the first: by clusters (CR3) and by the model; and what each query adds to θ."""

    clusters: np.ndarray
    model: np.ndarray
    effective: np.ndarray
    influence: np.ndarray
    statistic: float


def _errors(items: Comparisons, theta: np.ndarray) -> _Errors:
    shares = items.shares(theta)[1]
    T = np.linalg.inv(items.information(shares)[1:, 1:])
    scores = items.scores(items.c - shares * items.total[items.item])
    matrix, m = items.matrix(shares)[:, 1:].tocsr(), len(items.queries)
    corrected, weight_squares = np.empty_like(scores), np.zeros(len(T))
    for queries, rows, _ in items.blocks:
        P, total, query = matrix[rows].toarray(), items.total[rows, None], items.query[rows] - queries.start
        n, g = queries.stop - queries.start, scores[queries]
        PT = P @ T
        of_query = csr_array((np.ones(len(query)), (query, np.arange(len(query)))), shape=(n, len(query)))
        weight_squares += ((of_query @ (total * (P @ T**2 - PT**2))) ** 2).sum(axis=0)
        leverage = of_query @ (total[:, 0] * (P @ np.diag(T) - (PT * P).sum(axis=1)))

        def applied(v, P=P, total=total, query=query, of_query=of_query):
            """Return H_g T v of each query."""
            step = (v @ T)[query]
            return of_query @ (total * P * (step - (P * step).sum(axis=1)[:, None]))

        once = applied(g)
        corrected[queries] = g + once + applied(once)
        for q in np.flatnonzero(leverage > LEVERAGE):
            some = P[query == q]
            H = np.diag(items.total[rows][query == q] @ some) - some.T @ (total[query == q] * some)
            corrected[queries.start + q] = np.linalg.lstsq(np.eye(len(T)) - H @ T, g[q], rcond=None)[0]
    influence = corrected @ T
    clusters = (m - 1) / m * influence.T @ influence
    return _Errors(
        clusters, T, np.diag(T) ** 2 / weight_squares, influence, float((scores @ T * scores).sum())
    )


def _one_curve(items: Comparisons, theta: np.ndarray, statistic: float, seed: int) -> float:
    """Return how probable as large a statistic Σ gᵀ T g is under the model, by drawn tables.

    Clicks are drawn as Poisson numbers of the fitted means. Scores are those after one step of Newton's
    method from the drawn table, and the distribution the gamma distribution of their mean and variance. Where
    an impression is clicked at most once, clicks vary less, and alarms are rarer than the probability says.
    """
    rng = np.random.default_rng(seed)
    shares = items.shares(theta)[1]
    T = np.linalg.inv(items.information(shares)[1:, 1:])
    mean = shares * items.total[items.item]
    step, drawn = np.zeros(items.n_ranks), []
    for _ in range(int(np.clip(DRAWN_CELLS // len(mean), *DRAWS))):
        clicks = rng.poisson(mean)
        excess = clicks - shares * np.add.reduceat(clicks, items.start[:-1])[items.item]
        step[1:] = T @ np.bincount(items.rank, excess, items.n_ranks)[1:]
        moved = step[items.rank]
        centre = np.add.reduceat(shares * moved, items.start[:-1])[items.item]
        scores = items.scores(excess - mean * (moved - centre))
        drawn.append(float((scores @ T * scores).sum()))
    centre, variance = float(np.mean(drawn)), float(np.var(drawn, ddof=1))
    if not variance:  # every impression of these items was clicked
        return 1.0
    return float(gamma.sf(statistic, centre**2 / variance, scale=variance / centre))


def components_of(log: ClickLog) -> tuple[tuple[int, ...], ...]:
    """Return the sets of ranks within which propensities are identified, from the first rank on.

    The maximum of the likelihood exists and is unique within a set of ranks that is strongly connected: an
    edge goes from rank k to rank l where an item was shown at both and clicked at k.
    """
    cells = log.cells()
    ranks = np.unique(cells.rank)
    place = np.searchsorted(ranks, cells.rank)
    shape = (log.n_items, len(ranks))
    impressions = csr_array((np.ones(len(place)), (cells.item, place)), shape=shape)
    clicked = csr_array(((cells.clicks > 0).astype(float), (cells.item, place)), shape=shape)
    edges = clicked.T @ impressions
    edges.eliminate_zeros()
    label = connected_components(edges, directed=True, connection="strong")[1]
    parts = [tuple(ranks[label == number].tolist()) for number in np.unique(label)]
    return tuple(sorted(parts))


def estimate_propensities(log: ClickLog, *, test: bool = True, seed: int = 0) -> Propensities:
    """Estimate propensities by the conditional likelihood, in each set of ranks that the log compares.

    Parameters
    ----------
    log : ClickLog
        Contexts are not told apart: take one by `ClickLog.of_context`, and join them by
        `Propensities.of_contexts`.
    test : bool, default=True
        Whether to test that one curve fits all queries, which draws tables.
    seed : int, default=0
        Of the drawn tables.

    Returns
    -------
    Propensities
        Not identified where the log does not compare all ranks: see `Propensities.components`.

    Raises
    ------
    MethodError
        If the likelihood cannot be maximised.

    Examples
    --------
    >>> from directrank.apps.clicks import ClickLog, estimate_propensities
    >>> log = ClickLog.of_counts(["q"] * 4, ["a", "a", "b", "b"], [1, 2, 1, 2], [10] * 4, [8, 4, 4, 2])
    >>> estimate_propensities(log, test=False).propensity
    array([1. , 0.5])
    """
    parts = components_of(log)
    ranks = np.unique(log.rank)
    n = len(ranks)
    propensity, effective = np.ones(n), np.full(n, np.inf)
    clusters, model, influence = np.zeros((n, n)), np.zeros((n, n)), np.zeros((log.n_queries, n))
    one_curve, queries, n_clicks, by_model = [], set(), 0, False
    for part in parts:
        if len(part) == 1:
            propensity[ranks == part[0]] = 1.0 if n == 1 else np.nan
            continue
        items = Comparisons(log, part)
        theta = items.maximum()
        errors = _errors(items, theta)
        at = np.searchsorted(ranks, part)
        propensity[at], effective[at[1:]] = np.exp(theta), errors.effective
        inner = np.ix_(at[1:], at[1:])
        queries.update(items.queries.tolist())
        n_clicks += int(items.total.sum())
        clusters[inner], model[inner] = errors.clusters, errors.model
        if not has_clusters(np.bincount(items.query, items.total)):
            by_model, clusters[inner], effective[at[1:]] = True, errors.model, np.inf
            continue
        influence[np.ix_(items.queries, at[1:])] = errors.influence
        if test:
            one_curve.append(_one_curve(items, theta, errors.statistic, seed))
    return Propensities(
        "conditional likelihood", ranks, propensity, parts, clusters, model, effective, n_clicks,
        len(queries), min(1.0, len(one_curve) * min(one_curve)) if one_curve else float("nan"),
        by_model, influence=None if by_model else influence, qid=log.qid,
    )  # fmt: skip


def held_out_likelihood(
    log: ClickLog, propensities: Propensities, *, folds: int = 5, seed: int = 0
) -> tuple[float, float]:
    """Return how much likelier held-out clicks are by the log's own curve than by propensities.

    The log's own curve is that of the other folds of queries. Only if propensities are wrong is it likelier
    in expectation: it has errors, and what is right has none.

    Parameters
    ----------
    log : ClickLog
    propensities : Propensities
        Of all ranks of the log, from elsewhere.
    folds : int, default=5
    seed : int, default=0
        Of the folds.

    Returns
    -------
    gain : float
        The mean gain in log likelihood of a click on a compared document.
    p : float
        The probability of as large a gain if it is 0 in expectation, by a test over queries. Both are NaN
        where a part of the log does not compare all ranks, or queries are too few.

    Examples
    --------
    >>> from directrank import make_ranking
    >>> from directrank.apps.clicks import Propensities, held_out_likelihood, make_clicks
    >>> groups = make_ranking(50, 5, uneven=0, random_state=0)
    >>> log = make_clicks(groups, {"a": groups.X[:, 0], "b": groups.X[:, 1]}, random_state=0)
    >>> flat = Propensities.of_dict([{"position": k, "propensity": 1.0} for k in range(1, 6)])
    >>> gain, p = held_out_likelihood(log, flat)
    >>> gain > 0.05, p < 0.001
    (True, True)
    """
    ranks = np.unique(log.rank)
    theta = np.log(propensities.propensity[propensities.places(ranks, log.source)])
    if not has_clusters(log.pages()):
        return float("nan"), float("nan")
    fold = np.random.default_rng(seed).permutation(log.n_queries) % folds
    gains, clicks = np.zeros((2, log.n_queries))
    for number in range(min(folds, log.n_queries)):
        tested = fold == number
        of_others = estimate_propensities(log.of_queries(~tested), test=False)
        if not of_others.identified or len(of_others.position) < len(ranks):
            return float("nan"), float("nan")
        items = Comparisons(log.of_queries(tested), ranks.tolist())
        at = np.flatnonzero(tested)[items.queries]
        gains[at] = items.likelihoods(np.log(of_others.propensity)) - items.likelihoods(theta)
        clicks[at] = np.bincount(items.query, items.total, len(at))
    effective = clicks.sum() ** 2 / (clicks**2).sum()
    error = gains.std(ddof=1) * log.n_queries**0.5
    p = float(t.sf(gains.sum() / max(error, 1e-300), max(effective - 1.0, 1.0)))
    return float(gains.sum() / clicks.sum()), p


def agreement_with(log: ClickLog, propensities: Propensities) -> float:
    """Return how probable as large a difference to a log's own estimates is, if propensities are right.

    It is that of Wald's statistic with errors by clusters of queries, by the F distribution with the least
    effective number of queries less 1; NaN where the log does not compare all ranks.

    Parameters
    ----------
    log : ClickLog
    propensities : Propensities
        Of all ranks of the log, from elsewhere.
    """
    estimate = estimate_propensities(log, test=False)
    at = propensities.places(estimate.position, log.source)
    if not estimate.identified or estimate.covariance is None or estimate.effective_queries is None:
        return float("nan")
    log_p = np.log(propensities.propensity[at])
    difference = (np.log(estimate.propensity) - log_p + log_p[0])[1:]
    covariance = estimate.covariance[1:, 1:]
    if propensities.covariance is not None:
        # Of log p less that of the log's first rank, which propensities from elsewhere may know by estimate.
        theirs = propensities.covariance[np.ix_(at, at)]
        covariance = covariance + (theirs - theirs[0] - theirs[:, :1] + theirs[0, 0])[1:, 1:]
    wald = float(difference @ np.linalg.pinv(covariance) @ difference)
    freedom = float(np.clip(estimate.effective_queries[1:].min() - 1.0, 1.0, LARGEST))
    return float(f.sf(wald / len(difference), len(difference), freedom))

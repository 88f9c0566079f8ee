"""Working sets of rankings: minimise over those found so far, search for more violated ones, repeat."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.contracts import Solution, Solver, ViolatedPairs
from directrank.errors import check_choice
from directrank.kernels.compile import kernel
from directrank.kernels.products import transposed_product
from directrank.solvers.descent import Incumbent
from directrank.solvers.planes import minimise_risk, planes_in_blocks, solve, visiting_order


class WorkingSets(Solver):
    r"""PermuRank's rounds on :math:`\frac12 |w|^2 + C \sum_q \omega_q \, l(B_q, C_q; w)`.

    Each round minimises the bound over the rankings found so far and adds, for each query, the perfect
    ranking that the new w values least and the imperfect one that it values most.

    Parameters
    ----------
    C : float, default=1.0
        > 0; larger fits more. The weights ω of the queries sum to 1.
    rounds : int, default=100
    averaged : bool, default=True
        Judge and return, in each round, the sum of w / |w| over the rounds so far. With sums over working
        sets w swings from round to round, and its average does not.
    keep : {"best", "last"}, default="best"
        The best round by the monitor, or the last.
    tolerance : float, default=1e-4
        Relative duality gap of the problem of each round.

    Notes
    -----
    A run ends when no set grows, and has converged if its last problem is solved. Each round tightens one
    fixed problem only with the aggregate "max"; a sum grows with the sets and mostly runs until the budget of
    rounds is spent. The certificate holds the bound over the last working sets and its duality gap.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Figure 2; the arg max of Eq. (10) is meant to be an arg min.
    """

    needs = frozenset({ViolatedPairs})

    def __init__(self, *, C=1.0, rounds=100, averaged=True, keep="best", tolerance=1e-4):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        check_choice("keep", keep, ("best", "last"))
        self.C, self.rounds, self.averaged = float(C), rounds, averaged
        self.keep, self.tolerance = keep, tolerance

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        run = _Run(objective, scorer, features, self.C)
        total = result = np.zeros(features.shape[1])
        incumbent, trace, status, best_round = Incumbent(scorer, monitor), [], "budget", 0
        for number in range(1, self.rounds + 1):
            run.w, run.value, run.dual = minimise(run.loss, run.found, run.caps, run.w, self.tolerance)
            w = run.w
            total = total + w / max(np.linalg.norm(w), np.finfo(float).tiny)
            result = total if self.averaged else w
            before = incumbent.value
            judged = incumbent.offer(result)
            best_round = number if judged > before else best_round
            grown = run.grow()
            trace.append({"round": number, **run.row(), "grown": grown, "monitor": judged})
            if grown == 0:
                solved = abs(run.value - run.dual) <= self.tolerance * run.value
                status = "converged" if solved else "stopped"
                break
        kept, parameters = f"round {best_round}", incumbent.parameters
        if self.keep == "last":
            kept, parameters = "the last", result
        certificate = {"bound": run.value, "duality_gap": run.value - run.dual, "rounds": float(len(trace))}
        most = f"working sets of at most {trace[-1]['imperfect']} imperfect rankings"
        message = f"Trained {len(trace)} rounds, kept {kept}; {most}"
        return Solution(scorer.at(parameters), status, certificate, trace, message)


# Rankings whose features differ by less, relative to their size, are the same one.
SAME = 1e-9


@dataclass
class Rankings:
    """Rankings as features, float64; those of a query are next to each other, and counted in `counts`."""

    rows: np.ndarray
    counts: np.ndarray

    def unknown(self, offered: np.ndarray) -> np.ndarray:
        """Return which of the rankings offered, one for each query, are none of the query's own."""
        query = np.repeat(np.arange(len(offered)), self.counts)
        limit = SAME * (1.0 + np.abs(offered).max(axis=1, initial=0.0))
        same = (np.abs(self.rows - offered[query]) <= limit[query, None]).all(axis=1)
        return np.bincount(query[same], minlength=len(offered)) == 0

    def add(self, offered: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Add the new ones of the rankings offered; return the places before which they are inserted."""
        ends = np.cumsum(self.counts)[new]
        self.rows = np.insert(self.rows, ends, offered[new], axis=0)
        self.counts = self.counts + new
        return ends


class FoundRankings:
    """The working sets of all queries.

    A pair is a perfect and an imperfect ranking of one query; the pairs of a query are next to each other,
    those of one perfect ranking too.
    """

    def __init__(self, n_queries: int, n_features: int):
        self.perfect, self.imperfect = (
            Rankings(np.empty((0, n_features)), np.zeros(n_queries, np.int64)) for _ in range(2)
        )
        self.losses, self.alpha = np.empty((2, 0))

    @property
    def n_pairs(self) -> np.ndarray:
        """The number of pairs of each query."""
        return self.perfect.counts * self.imperfect.counts

    def add(self, right: np.ndarray, wrong: np.ndarray, losses: np.ndarray, which: np.ndarray) -> int:
        """Add two rankings to each of some queries unless they are known; return how many sets grew.

        One is perfect, and the other, to which the losses belong, is not.
        """
        new_right = which & self.perfect.unknown(right)
        new_wrong = which & self.imperfect.unknown(wrong)
        query, first, other = self._pairs()
        self.perfect.add(right, new_right)
        self.losses = np.insert(self.losses, self.imperfect.add(wrong, new_wrong), losses[new_wrong])
        alpha = np.zeros(self.n_pairs.sum())
        place = _starts(self.n_pairs)[query] + first * self.imperfect.counts[query] + other
        alpha[place] = self.alpha
        self.alpha = alpha
        return int((new_right | new_wrong).sum())

    def pair_losses(self) -> np.ndarray:
        """Return the loss of each pair."""
        query, _, wrong = self._pairs()
        return self.losses[_starts(self.imperfect.counts)[query] + wrong]

    def vectors(self, factors: np.ndarray) -> np.ndarray:
        """Return a factor of each pair times the difference of its features, (n_pairs, n_features)."""
        query, right, wrong = self._pairs()
        out = self.perfect.rows[_starts(self.perfect.counts)[query] + right]
        out -= self.imperfect.rows[_starts(self.imperfect.counts)[query] + wrong]
        out *= factors[:, None]
        return out

    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return of each pair the query, and the numbers of its two rankings among those of the query."""
        query = np.repeat(np.arange(len(self.n_pairs)), self.n_pairs)
        number, width = np.arange(len(query)) - _starts(self.n_pairs)[query], self.imperfect.counts[query]
        return query, number // width, number % width


def _starts(counts: np.ndarray) -> np.ndarray:
    """Return where the entries of each query begin."""
    return np.cumsum(counts) - counts


class _Run:
    """One run: the working sets of all queries, and the solution of the last round with its bounds."""

    def __init__(self, objective, scorer, features: np.ndarray, C: float):
        self.scorer, self.features, self.dtype = scorer, features, objective.dtype
        self.w, self.value, self.dual = np.zeros(features.shape[1]), 0.0, 0.0
        self.oracles, parts = objective.all_queries().oracles, objective.single_queries()
        self.loss, self.found = self.oracles.pair_loss(), FoundRankings(len(parts), features.shape[1])
        self.queries = np.array([part.queries.start for part in parts])
        self.ranges = np.array([(part.rows.start, part.rows.stop) for part in parts])
        self.perfect, self.right = np.empty(0), np.empty(0)
        _, wrong, losses, some = self._violated()
        order = visiting_order(losses * some, wrong * some[:, None])
        self.queries, self.ranges, self.right = self.queries[order], self.ranges[order], self.right[order]
        self.grow()
        self.caps = C * objective.weights[self.queries]

    def grow(self) -> int:
        """Add each query's most violated rankings; return how many sets grew."""
        return self.found.add(*self._violated())

    def _violated(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return each query's most violated rankings as features, the loss, and whether there are any."""
        scores = self.scorer.forward(self.w, self.features, self.dtype)
        perfect, imperfect, losses = self.oracles.violated_pairs(scores)
        if not np.array_equal(perfect, self.perfect):  # it is the same in all rounds under "cross"
            self.perfect, self.right = perfect, self._as_features(perfect)
        wrong = self._as_features(imperfect)
        count = np.append(0, np.cumsum(imperfect != 0))
        some = count[self.ranges[:, 1]] > count[self.ranges[:, 0]]
        return self.right, wrong, losses[self.queries], some

    def _as_features(self, coefficients: np.ndarray) -> np.ndarray:
        rankings = np.zeros((len(self.ranges), self.features.shape[1]))
        products_by_query(self.features, self.ranges, coefficients, rankings)
        return rankings

    def row(self) -> dict[str, float]:
        """Return the bound and the sizes of the sets, for the trace."""
        sizes = self.found.imperfect.counts
        return {
            "bound": self.value,
            "gap": self.value - self.dual,
            "perfect": int(self.found.perfect.counts.max()),
            "imperfect": int(sizes.max()),
            "mean_imperfect": float(np.mean(sizes)),
        }


def minimise(
    loss: Any, rankings: FoundRankings, caps: np.ndarray, w: np.ndarray, tolerance: float
) -> tuple[np.ndarray, float, float]:
    """Minimise ½ |w|² and the bound on the working sets; return w, the value and a lower bound of it.

    A cap is C times the weight of a query. The search starts at w, writes the dual weights of the pairs in
    `rankings`, and ends at a duality gap relative to the value.
    """
    shares = caps
    if loss.aggregate != "max":  # what the sum over the pairs of each query is divided by
        shares = caps / np.maximum(
            rankings.n_pairs if loss.aggregate == "mean" else rankings.perfect.counts, 1
        )
    losses, sizes = rankings.pair_losses(), rankings.n_pairs
    lines = loss.lines(losses)
    if lines is None:
        differences = rankings.vectors(np.ones(len(losses)))
        return _minimise_curved(loss, losses, differences, sizes, shares, w, tolerance)
    one_cut = loss.aggregate == "max"
    starts = np.concatenate(([0], np.cumsum(sizes))) if one_cut else np.arange(len(losses) + 1)
    block_caps = shares if one_cut else np.repeat(shares, sizes)
    rankings.alpha = np.minimum(rankings.alpha, np.repeat(shares, sizes))  # caps shrink as sets grow
    planes = planes_in_blocks(rankings.vectors(-lines[1]), lines[0], starts, block_caps, rankings.alpha)
    value, dual = solve(planes, tolerance, 1000)
    return planes.w, value, dual


def _minimise_curved(loss, losses, differences, sizes, shares, w, tolerance):
    starts = _starts(sizes)

    def risk(point: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = loss.value_and_slope(losses, differences @ point)
        if loss.aggregate == "max":
            top = np.array(
                [start + np.argmax(values[start : start + n]) for start, n in zip(starts, sizes, strict=True)]
            )
            return float(shares @ values[top]), (shares * slopes[top]) @ differences[top]
        weights = np.repeat(shares, sizes)
        return float(weights @ values), (weights * slopes) @ differences

    return minimise_risk(risk, w, tolerance)


@kernel
def products_by_query(features, ranges, gradient, out):
    """Add Xᵀ g over each range of rows (first, one past the last) to a row of `out`, float64."""
    partial = np.zeros(features.shape[1], gradient.dtype)
    for query in range(len(ranges)):
        start, stop = ranges[query]
        transposed_product(features[start:stop], gradient[start:stop], partial, out[query])

"""Working sets of rankings: minimise over those found so far, search for more violated ones, repeat."""

from typing import Any

import numpy as np

from directrank.contracts import Solution, Solver
from directrank.errors import check_choice
from directrank.kernels.compile import kernel
from directrank.oracles import ViolatedPairs
from directrank.solvers.cuts.planes import minimise_model
from directrank.solvers.cuts.simplex_qp import solve_blocks
from directrank.solvers.cuts.visiting_order import visiting_order
from directrank.solvers.incumbent import Incumbent

# Rankings whose features differ by less, relative to their size, are the same one.
SAME = 1e-9


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
            w = run.minimise(self.tolerance)
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


class _Run:
    """One run: the working sets of all queries, and the solution of the last round with its bounds."""

    def __init__(self, objective, scorer, features: np.ndarray, C: float):
        self.scorer, self.features, self.dtype = scorer, features, objective.dtype
        self.w, self.value, self.dual = np.zeros(features.shape[1]), 0.0, 0.0
        self.whole, self.parts = objective.whole(), objective.single_queries()
        self.sets = [WorkingSet(features.shape[1]) for _ in self.parts]
        self.loss = self.whole.oracles.pair_loss()
        self.grow()
        losses = np.array([each.losses[:1].sum() for each in self.sets])
        vectors = np.array([each.imperfect[:1].sum(axis=0) for each in self.sets])
        order = visiting_order(losses, vectors)
        self.parts, self.sets = [self.parts[i] for i in order], [self.sets[i] for i in order]
        self.caps = np.array([C * objective.weights[part.queries][0] for part in self.parts])

    def minimise(self, tolerance: float) -> np.ndarray:
        """Minimise the bound on the working sets; return the minimiser."""
        self.w, self.value, self.dual = minimise(self.loss, self.sets, self.caps, self.w, tolerance)
        return self.w

    def grow(self) -> int:
        """Add each query's most violated rankings; return how many sets grew."""
        scores = self.scorer.forward(self.w, self.features, self.dtype)
        perfect, imperfect, losses = self.whole.oracles.violated_pairs(scores)
        grown = 0
        for part, each in zip(self.parts, self.sets, strict=True):
            block, wrong = self.features[part.rows], imperfect[part.rows]
            if wrong.any():
                right, wrong = (self.scorer.backward(block, of[part.rows]) for of in (perfect, imperfect))
                grown += each.add(right, wrong, float(losses[part.queries.start]))
        return grown

    def row(self) -> dict[str, float]:
        """Return the bound and the sizes of the sets, for the trace."""
        sizes = [len(each.losses) for each in self.sets]
        return {
            "bound": self.value,
            "gap": self.value - self.dual,
            "perfect": int(max(len(each.perfect) for each in self.sets)),
            "imperfect": int(max(sizes)),
            "mean_imperfect": float(np.mean(sizes)),
        }


class WorkingSet:
    """The perfect and imperfect rankings of one query, as features, and the dual weights of their pairs."""

    def __init__(self, n_features: int):
        self.perfect, self.imperfect = np.empty((0, n_features)), np.empty((0, n_features))
        self.losses = np.empty(0)
        self.alpha = np.empty((0, 0))

    def add(self, right: np.ndarray, wrong: np.ndarray, loss: float) -> int:
        """Add a perfect and an imperfect ranking unless they are known; return 1 if a set grew."""
        new = [not _known(self.perfect, right), not _known(self.imperfect, wrong)]
        if new[0]:
            self.perfect = np.vstack((self.perfect, right))
        if new[1]:
            self.imperfect = np.vstack((self.imperfect, wrong))
            self.losses = np.append(self.losses, loss)
        if any(new):
            alpha = np.zeros((len(self.perfect), len(self.losses)))
            alpha[: self.alpha.shape[0], : self.alpha.shape[1]] = self.alpha
            self.alpha = alpha
        return int(any(new))

    def differences(self) -> np.ndarray:
        """Return the difference of features of each pair, (n_perfect · n_imperfect, n_features)."""
        pairs = self.perfect[:, None, :] - self.imperfect[None, :, :]
        return pairs.reshape(-1, self.perfect.shape[1])

    def pair_losses(self) -> np.ndarray:
        """Return the loss of each pair."""
        return np.tile(self.losses, len(self.perfect))


@kernel
def _known(rankings, new):
    size = 0.0
    for k in range(len(new)):
        size = max(size, abs(new[k]))
    limit = SAME * (1.0 + size)
    for i in range(len(rankings)):
        k = 0
        while k < len(new) and abs(rankings[i, k] - new[k]) <= limit:
            k += 1
        if k == len(new):
            return True
    return False


def minimise(
    loss: Any, sets: list[WorkingSet], caps: np.ndarray, w: np.ndarray, tolerance: float
) -> tuple[np.ndarray, float, float]:
    """Minimise ½ |w|² and the bound on the working sets; return w, the value and a lower bound of it.

    Parameters
    ----------
    loss : PairLoss
    sets : list of WorkingSet
    caps : ndarray of shape (n_queries,)
        C times the weight of each query.
    w : ndarray of shape (n_features,)
        Where a search starts.
    tolerance : float
        Largest duality gap, relative to the value.
    """
    shares = caps / _divisors(loss.aggregate, sets)
    losses = np.concatenate([each.pair_losses() for each in sets])
    differences = np.concatenate([each.differences() for each in sets])
    sizes = np.array([each.alpha.size for each in sets])
    lines = loss.lines(losses)
    if lines is None:
        return _minimise_curved(loss, losses, differences, sizes, shares, w, tolerance)
    alpha = np.concatenate([each.alpha.ravel() for each in sets])
    whole = loss.aggregate == "max"
    starts = np.concatenate(([0], np.cumsum(sizes))) if whole else np.arange(len(losses) + 1)
    block_caps = shares if whole else np.repeat(shares, sizes)
    alpha = np.minimum(alpha, np.repeat(shares, sizes))  # caps shrink as sets grow
    vectors = -lines[1][:, None] * differences
    w = -alpha @ vectors
    value, dual = solve_blocks(vectors, lines[0], starts, block_caps, alpha, w, tolerance, 1000)
    for each, own in zip(sets, np.split(alpha, np.cumsum(sizes)[:-1]), strict=True):
        each.alpha = own.reshape(each.alpha.shape)
    return w, value, dual


def _divisors(aggregate: str, sets: list[WorkingSet]) -> np.ndarray:
    """Return what the sum over the pairs of each query is divided by, (n_queries,)."""
    if aggregate == "max":
        return np.ones(len(sets))
    pairs = [len(each.perfect) * (len(each.losses) if aggregate == "mean" else 1) for each in sets]
    return np.maximum(pairs, 1)


def _minimise_curved(loss, losses, differences, sizes, shares, w, tolerance):
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))

    def risk(point: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = loss.value_and_slope(losses, differences @ point)
        if loss.aggregate == "max":
            top = np.array(
                [start + np.argmax(values[start : start + n]) for start, n in zip(starts, sizes, strict=True)]
            )
            return float(shares @ values[top]), (shares * slopes[top]) @ differences[top]
        each = np.repeat(shares, sizes)
        return float(each @ values), (each * slopes) @ differences

    return minimise_model(risk, w, tolerance)

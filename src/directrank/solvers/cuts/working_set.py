"""Working sets of rankings: solve on those found so far, look for more violated ones, repeat."""

from typing import Any

import numpy as np

from directrank.contracts import Solution
from directrank.solvers.cuts.cutting_plane import minimise_model
from directrank.solvers.cuts.simplex_qp import solve_blocks
from directrank.solvers.smooth.gradient import Incumbent
from directrank.solvers.visiting import visiting_order

# Rankings whose features differ by less, relative to their size, are the same one.
SAME = 1e-9


class WorkingSets:
    r"""PermuRank's rounds on :math:`\frac12 |w|^2 + C \sum_q \omega_q \, l(B_q, C_q; w)`.

    Each round minimises the bound over the rankings found so far and adds, for each query, the perfect
    ranking that the new w values least and the imperfect one that it values most.

    Parameters
    ----------
    C : float, default=1.0
        > 0; larger fits more. The weights ω of the queries sum to 1.
    rounds : int, default=100
    averaged : bool, default=True
        Judge and return, in each round, the sum of w / |w| over the rounds so far: with sums over working
        sets the rounds swing, and their average does not.
    keep : {"best", "last"}, default="best"
        The best round by the monitor, or the last.
    tolerance : float, default=1e-4
        Relative duality gap of the problem of each round.

    Notes
    -----
    It ends when no set grows. Only with the aggregate "max" does each round tighten one fixed problem; a sum
    grows with the sets and mostly runs until the rounds are used up. The certificate holds the bound over the
    last working sets and its duality gap.

    References
    ----------
    .. [1] J. Xu, T.-Y. Liu, M. Lu, H. Li, W.-Y. Ma, "Directly optimizing evaluation measures in learning to
       rank", SIGIR 2008, Figure 2; the arg max of Eq. (10) is meant to be an arg min.
    """

    needs = frozenset({"violated_pairs", "pair_form"})

    def __init__(self, *, C=1.0, rounds=100, averaged=True, keep="best", tolerance=1e-4):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        if keep not in ("best", "last"):
            raise ValueError(f"keep must be 'best' or 'last', not {keep!r}")
        self.C, self.rounds, self.averaged = float(C), rounds, averaged
        self.keep, self.tolerance = keep, tolerance

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        parts = objective.single_queries()
        sets = [_Sets(features.shape[1]) for _ in parts]
        form = parts[0].oracles.pair_form()
        w = total = np.zeros(features.shape[1])
        incumbent, trace, status, value, dual = Incumbent(scorer, monitor), [], "budget", 0.0, 0.0
        self._grow(parts, sets, scorer, features, w, objective.dtype)
        first = [(each.losses[:1].sum(), each.imperfect[:1].sum(axis=0)) for each in sets]
        order = visiting_order(np.array([loss for loss, _ in first]), np.array([x for _, x in first]))
        parts, sets = [parts[i] for i in order], [sets[i] for i in order]
        caps = np.array([self.C * objective.weights[part.queries][0] for part in parts])
        result, best_round = w, 0
        for number in range(1, self.rounds + 1):
            w, value, dual = _minimise(form, sets, caps, w, self.tolerance)
            total = total + w / max(np.linalg.norm(w), np.finfo(float).tiny)
            result = total if self.averaged else w
            before = incumbent.value
            judged = incumbent.offer(result)
            best_round = number if judged > before else best_round
            grown = self._grow(parts, sets, scorer, features, w, objective.dtype)
            trace.append(
                {
                    "round": number,
                    "bound": value,
                    "gap": value - dual,
                    "perfect": int(max(len(each.perfect) for each in sets)),
                    "imperfect": int(max(len(each.losses) for each in sets)),
                    "mean_imperfect": float(np.mean([len(each.losses) for each in sets])),
                    "grown": grown,
                    "monitor": judged,
                }
            )
            if grown == 0:
                status = "converged"
                break
        kept = incumbent.parameters if self.keep == "best" else result
        return Solution(
            scorer.at(kept),
            status,
            {"bound": value, "duality_gap": value - dual, "rounds": float(len(trace))},
            trace,
            f"{len(trace)} rounds, working sets of at most {trace[-1]['imperfect']} imperfect rankings; "
            + (f"round {best_round} kept" if self.keep == "best" else "the last round kept"),
        )

    def _grow(self, parts, sets, scorer, features, w, dtype) -> int:
        """Add each query's most violated rankings; return how many sets grew."""
        grown = 0
        for part, each in zip(parts, sets, strict=True):
            block = features[part.rows]
            perfect, imperfect, losses = part.oracles.violated_pairs(scorer.forward(w, block, dtype))
            if not imperfect.any():
                continue
            right, wrong = scorer.backward(block, perfect), scorer.backward(block, imperfect)
            grown += each.add(right, wrong, float(losses[0]))
        return grown


class _Sets:
    """The working sets of one query, and the dual weights of their pairs."""

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
        self.alpha = np.pad(self.alpha, ((0, int(new[0])), (0, int(new[1]))))
        return int(any(new))

    def differences(self) -> np.ndarray:
        """Features of each pair, (n_perfect · n_imperfect, n_features)."""
        pairs = self.perfect[:, None, :] - self.imperfect[None, :, :]
        return pairs.reshape(-1, self.perfect.shape[1])

    def pair_losses(self) -> np.ndarray:
        """The loss of each pair."""
        return np.tile(self.losses, len(self.perfect))


def _known(rankings: np.ndarray, new: np.ndarray) -> bool:
    if not len(rankings):
        return False
    return bool((np.abs(rankings - new).max(axis=1) <= SAME * (1.0 + np.abs(new).max())).any())


def _minimise(form: Any, sets: list[_Sets], caps: np.ndarray, w: np.ndarray, tolerance: float):
    """Minimise the bound on the working sets; return w, the value and a lower bound of the minimum."""
    if form.aggregate == "max":
        shares = caps
    else:
        per_set = [len(each.perfect) * (len(each.losses) if form.aggregate == "mean" else 1) for each in sets]
        shares = caps / np.maximum(per_set, 1)
    losses = np.concatenate([each.pair_losses() for each in sets])
    differences = np.concatenate([each.differences() for each in sets])
    sizes = np.array([each.alpha.size for each in sets])
    lines = form.lines(losses)
    if lines is None:
        return _minimise_curved(form, losses, differences, sizes, shares, w, tolerance)
    alpha = np.concatenate([each.alpha.ravel() for each in sets])
    whole = form.aggregate == "max"
    starts = np.concatenate(([0], np.cumsum(sizes))) if whole else np.arange(len(losses) + 1)
    block_caps = shares if whole else np.repeat(shares, sizes)
    # Caps shrink as sets grow.
    alpha = np.minimum(alpha, np.repeat(shares, sizes))
    vectors = -lines[1][:, None] * differences
    w = -alpha @ vectors
    value, dual = solve_blocks(vectors, lines[0], starts, block_caps, alpha, w, tolerance, 1000)
    for each, own in zip(sets, np.split(alpha, np.cumsum(sizes)[:-1]), strict=True):
        each.alpha = own.reshape(each.alpha.shape)
    return w, value, dual


def _minimise_curved(form, losses, differences, sizes, shares, w, tolerance):
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))

    def risk(point: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = form.value_and_slope(losses, differences @ point)
        if form.aggregate == "max":
            top = np.array(
                [start + np.argmax(values[start : start + n]) for start, n in zip(starts, sizes, strict=True)]
            )
            return float(shares @ values[top]), (shares * slopes[top]) @ differences[top]
        each = np.repeat(shares, sizes)
        return float(each @ values), (each * slopes) @ differences

    return minimise_model(risk, w, tolerance)

"""Block-coordinate Frank-Wolfe: a structural SVM solved query by query, with closed-form steps."""

from typing import NamedTuple

import numba
import numpy as np

from directrank.contracts import CutKernel, LinearScorer, MostViolated, ObjectiveOracles, Solution, Solver
from directrank.kernels.compile import inline_kernel, kernel
from directrank.kernels.plugins import cut_of_query, is_ours
from directrank.kernels.products import row_products, transposed_product
from directrank.solvers.descent import judged
from directrank.solvers.planes import Planes, dot, dual_value, improve_block, visiting_order

# Between passes, steps among the stored cuts continue until their gap is this share of the last pass's gap,
# or of the tolerance, whichever is larger; at most so many sweeps.
SHARE_OF_GAP, SHARE_OF_TOLERANCE, MOST_SWEEPS = 0.05, 0.1, 50
#: Most cuts that are stored for a query; beyond that, the two of least weight become their mean.
MOST_CUTS = 8
# Below this gain over zero scores the solution is close to zero, and its direction means little.
FLAT = 2e-3


class BCFW(Solver):
    r"""Block-coordinate Frank-Wolfe on :math:`\frac12 |w|^2 + C \sum_q \omega_q \max_\pi H_q(\pi; w)`.

    The weights ω of the queries sum to 1, so that C is that of Eq. (8). A pass visits the queries in a new
    random order: it finds the query's most violated ranking, stores its cut beside the last few, and moves
    weight from the lowest cut to the highest as far as the dual rises. Between passes such steps continue
    among the stored cuts, which reads no features.

    Parameters
    ----------
    C : float, default=10.0
        > 0; larger fits more.
    averaged : bool, default=True
        Return the weighted average of all iterates, later ones with larger weights.
    tolerance : float, default=1e-3
        Largest duality gap, relative to the objective.
    max_passes : int, default=200
        ≥ 2. Passes over the data, evaluations of the gap included.

    Notes
    -----
    The certificate is the duality gap of the solution: the objective there, computed in one pass, less the
    dual value. The first pass is at zero scores, and the cuts of an evaluation are stored like others. The
    gap is evaluated when the gaps found during a pass, shrinking once more as they did from the pass before,
    would meet the tolerance. Without `averaged` the last iterate is judged and returned.

    Memory is eight feature vectors per query. A pass is sequential over queries: on many machines, use
    `CuttingPlane`, whose state is a sum over shards.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, "Block-coordinate Frank-Wolfe optimization
       for structural SVMs", ICML 2013.
    .. [2] N. Shah, V. Kolmogorov, C. Lampert, "A multi-plane block-coordinate Frank-Wolfe algorithm for
       training structural SVMs with a costly max-oracle", CVPR 2015.
    .. [3] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, "Minding the gaps for block
       Frank-Wolfe optimization of structured SVMs", ICML 2016: steps between pairs of cuts.
    """

    needs = frozenset({MostViolated})
    uses = frozenset({CutKernel})
    chooses = False

    def __init__(self, *, C=10.0, averaged=True, tolerance=1e-3, max_passes=200):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        if max_passes < 2:
            raise ValueError(f"max_passes must be at least 2, not {max_passes}")
        self.C, self.averaged, self.tolerance, self.max_passes = float(C), averaged, tolerance, max_passes

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        run = _Run(visits_of(objective, scorer, features), self.C, features.shape[1])
        trace: list[dict] = []
        status, primal, gap, result = "budget", np.inf, np.inf, run.cuts.planes.w
        while status == "budget" and run.passes < self.max_passes:
            if run.passes < self.max_passes - 1 and run.predicted() > self.tolerance * run.primal:
                run.step_through(rng, self.tolerance)
                trace.append({"pass": run.passes, "dual": run.dual, "expected_gap": run.gap})
                continue
            result = (run.cuts.mean if self.averaged else run.cuts.planes.w).copy()
            primal, gap = run.evaluate(result, self.tolerance)
            row = {"pass": run.passes, "objective": primal, "dual": primal - gap, "gap": gap}
            trace.append(row | {"monitor": judged(monitor, scorer.at(result))})
            status = "converged" if abs(gap) <= self.tolerance * primal else "budget"
        certificate = {
            "duality_gap": gap,
            "objective": primal,
            "relative_gap": gap / primal,
            "passes": float(run.passes),
            "sweeps": float(run.sweeps),
        }
        message = f"{run.passes} passes, duality gap {gap / primal:.2%} of the objective{run.verdict()}"
        return Solution(scorer.at(result), status, certificate, trace, message)


class Cuts(NamedTuple):
    """The cuts of each query, a block of planes below its risk, and the average of the iterates.

    The cut 0 is always one of them. Steps among stored cuts need no pass over the data.

    Attributes
    ----------
    planes : Planes
        Every query has the same number of rows; w is the iterate.
    mean : ndarray of shape (n_features,), float64
        The average of all iterates, later ones with larger weights.
    steps : ndarray of shape (1,), float64
        Number of iterates in the average.
    """

    planes: Planes
    mean: np.ndarray
    steps: np.ndarray


def no_cuts(caps: np.ndarray, most: int, n_features: int) -> Cuts:
    """Return arrays for at most `most` cuts of each query, none in use; there are as many queries as caps."""
    n = len(caps) * most
    planes = Planes(
        np.zeros((n, n_features)), np.zeros(n), np.zeros(n), np.zeros(n),
        np.arange(0, n, most), np.zeros(len(caps), np.int64), caps, np.zeros(n_features),
    )  # fmt: skip
    return Cuts(planes, np.zeros(n_features), np.zeros(1))


def reorder(planes: Planes, order: np.ndarray) -> None:
    """Put the queries in another order."""
    # Only what is in use is copied, because most rows are not at first.
    for k in range(int(planes.sizes.max(initial=0))):
        for numbers in (planes.vectors, planes.offsets, planes.alpha, planes.heights):
            numbers[planes.starts + k] = numbers[planes.starts[order] + k]
    planes.sizes[:], planes.caps[:] = planes.sizes[order], planes.caps[order]


@inline_kernel
def take_cut(planes, query, offset, vector):
    """Store a cut of a query if it is the highest at w; return the query's gap."""
    # The tuple is read once, because each access costs compilation.
    vectors, offsets, alpha, heights, starts, sizes, w = (
        planes.vectors, planes.offsets, planes.alpha, planes.heights, planes.starts, planes.sizes, planes.w,
    )  # fmt: skip
    start, height = starts[query], offset + dot(vector, w)
    stop, top, attained, most = start + sizes[query], 0.0, 0.0, len(offsets) // len(sizes)
    for k in range(start, stop):
        heights[k] = offsets[k] + dot(vectors[k], w)
        top = max(top, heights[k])
        attained += alpha[k] * heights[k]
    if height > top + 1e-12 * (1.0 + abs(top)):
        row = stop
        if sizes[query] < most:
            sizes[query] += 1
        else:
            row = _free_row(vectors, offsets, alpha, heights, start, stop)
        offsets[row], alpha[row] = offset, 0.0
        for k in range(len(vector)):
            vectors[row, k] = vector[k]
    return planes.caps[query] * max(top, height) - attained


@inline_kernel
def _free_row(vectors, offsets, alpha, heights, start, stop):
    # Remove the lowest cut without weight; if all have some, make the two of least weight their weighted
    # mean.
    idle, light, lighter = -1, -1, -1
    for k in range(start, stop):
        if alpha[k] == 0.0 and (idle < 0 or heights[k] < heights[idle]):
            idle = k
        if lighter < 0 or alpha[k] < alpha[lighter]:
            light, lighter = lighter, k
        elif light < 0 or alpha[k] < alpha[light]:
            light = k
    if idle >= 0:
        return idle
    total = alpha[light] + alpha[lighter]
    share = alpha[lighter] / total
    for k in range(vectors.shape[1]):
        vectors[light, k] = (1.0 - share) * vectors[light, k] + share * vectors[lighter, k]
    offsets[light] = (1.0 - share) * offsets[light] + share * offsets[lighter]
    alpha[light] = total
    return lighter


@inline_kernel
def step_among_kept(cuts, query):
    """Step among the stored cuts of a query; return its gap before."""
    gap = improve_block(cuts.planes, query)
    steps, mean, w = cuts.steps, cuts.mean, cuts.planes.w
    rate = 2.0 / (steps[0] + 2.0)
    steps[0] += 1.0
    for k in range(len(w)):
        mean[k] += rate * (w[k] - mean[k])
    return gap


@kernel
def optimise_kept_cuts(cuts, order, target, most_sweeps):
    """Step among the stored cuts until their gap is at most `target`; return the number of sweeps."""
    for sweep in range(most_sweeps):
        gap = 0.0
        for query in order:
            gap += step_among_kept(cuts, query)
        if gap <= target:
            return sweep + 1
    return most_sweeps


class Visits:
    """Visits to the queries that are not skipped, one by one through the oracle `MostViolated`."""

    def __init__(self, objective: ObjectiveOracles, scorer, features: np.ndarray):
        self.parts, self.scorer, self.features = objective.single_queries(), scorer, features
        self.dtype = objective.dtype
        #: Weight of each query, float64 (n,).
        self.weights = np.array([objective.weights[part.queries][0] for part in self.parts])

    def reorder(self, order: np.ndarray) -> None:
        """Renumber the queries."""
        self.parts, self.weights = [self.parts[number] for number in order], self.weights[order]

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """Store the most violated cut of each query, all at one point, or each at w, with a step after it.

        Return the sum of the queries' duality gaps, each when it was visited, and the risk: the sum of cap ·
        height.
        """
        gap = risk = 0.0
        for number in order:
            part = self.parts[number]
            block, at = self.features[part.rows], cuts.planes.w.copy() if point is None else point
            losses, direction = part.oracles.most_violated(self.scorer.forward(at, block, self.dtype))
            vector = self.scorer.backward(block, direction)
            risk += float(cuts.planes.caps[number] * (losses[0] + vector @ at))
            gap += take_cut(cuts.planes, number, losses[0], vector)
            if point is None:
                step_among_kept(cuts, number)
        return gap, risk


class CompiledVisits(Visits):
    """Visits in one compiled loop of scores, search, direction and step.

    It serves linear scorers and surrogates that offer `CutKernel`.
    """

    def __init__(self, objective, features: np.ndarray):
        self.features, self.dtype = features, objective.dtype
        self.plugin = objective.all_queries().oracles.cut_plugin()
        self.numbers = np.flatnonzero(objective.weights > 0)
        self.weights = objective.weights[self.numbers]
        self.loop = _visit if is_ours(self.plugin) else _visit_foreign
        # The scratch arrays of `_pass` are allocated here to shorten compilation.
        longest, n_features = self.plugin.longest, features.shape[1]
        self.scratch = (
            (np.empty((4, longest + 2), np.int64), np.empty((4, longest + 2))),
            (np.empty(longest, self.dtype), np.empty(longest, self.dtype)),
            (np.empty(longest), np.empty(longest)),
            (np.empty(n_features, self.dtype), np.zeros(n_features, self.dtype)),
            np.empty(n_features),
        )

    def reorder(self, order: np.ndarray) -> None:
        """Renumber the queries."""
        self.numbers, self.weights = self.numbers[order], self.weights[order]

    def visit(self, cuts: Cuts, order: np.ndarray, point: np.ndarray | None) -> tuple[float, float]:
        """Store the most violated cut of each query; see `Visits.visit`."""
        moving = point is None
        at = np.zeros(len(cuts.planes.w)) if moving else np.array(point)
        return self.loop(self.features, self.plugin, self.numbers, order, moving, at, cuts, self.scratch)


def visits_of(objective: ObjectiveOracles, scorer, features: np.ndarray) -> Visits:
    """Return the fastest way to visit the queries that the pair allows."""
    compiled = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    if compiled and CutKernel in objective.offers and isinstance(scorer, LinearScorer):
        return CompiledVisits(objective, features)
    return Visits(objective, scorer, features)


def _pass(features, plugin, numbers, order, moving, point, cuts, scratch):
    searching, (scores, direction), (exact_scores, exact), (typed, partial), vector = scratch
    gap, risk, indptr, caps = 0.0, 0.0, plugin.indptr, cuts.planes.caps
    at = cuts.planes.w if moving else point
    for number in order:
        q = numbers[number]
        start, stop = indptr[q], indptr[q + 1]
        block, s, d = features[start:stop], scores[: stop - start], direction[: stop - start]
        for k in range(len(at)):
            typed[k] = at[k]
            vector[k] = 0.0
        row_products(block, typed, s)
        # The search is long, and compiled for float64 alone, to which float32 scores are exact.
        for i in range(len(s)):
            exact_scores[i] = s[i]
        offset = cut_of_query(plugin, q, exact_scores[: len(s)], searching, exact[: len(s)])
        for i in range(len(s)):
            d[i] = exact[i]
        transposed_product(block, d, partial, vector)
        risk += caps[number] * (offset + dot(vector, at))
        gap += take_cut(cuts.planes, number, offset, vector)
        if moving:
            step_among_kept(cuts, number)
    return gap, risk


_visit, _visit_foreign = kernel(_pass), kernel(_pass, cached=False)


class _Run:
    """One run: the cuts, the order of the queries, and the gaps of the passes."""

    def __init__(self, visits: Visits, C: float, n_features: int):
        self.visits = visits
        cuts = no_cuts(C * visits.weights, MOST_CUTS, n_features)
        natural = np.arange(len(cuts.planes.caps))
        self.gap, self.primal = visits.visit(cuts, natural, np.zeros(n_features))
        self.at_zero, first = self.primal, natural * MOST_CUTS
        order = visiting_order(cuts.planes.offsets[first], cuts.planes.vectors[first])
        visits.reorder(order)
        reorder(cuts.planes, order)
        self.cuts: Cuts = cuts
        self.order, self.passes, self.sweeps, self.dual = natural, 1, 0, 0.0
        self.before = self.gap

    def predicted(self) -> float:
        """Return the gap to be expected if it shrinks once more as in the last pass."""
        return self.gap * min(1.0, self.gap / self.before) if self.passes > 1 else self.gap

    def verdict(self) -> str:
        """Return a warning if the dual value leaves almost nothing to gain over zero scores."""
        gain = 1.0 - self.dual / self.at_zero
        return "" if gain > FLAT else f"; no w lowers it from zero scores by a share of more than {gain:.0e}"

    def step_through(self, rng, tolerance: float) -> None:
        """Make a pass with a step at each query, then steps among the stored cuts."""
        self.order, self.before = rng.permutation(len(self.cuts.planes.caps)), self.gap
        # The average forgets early iterates; else its distance to the solution would only fall as 1 / steps.
        self.cuts.steps[0] = min(self.cuts.steps[0], len(self.order))
        self.gap, risk = self.visits.visit(self.cuts, self.order, None)
        self.passes += 1
        self.primal = 0.5 * float(self.cuts.planes.w @ self.cuts.planes.w) + risk
        self._optimise_kept_cuts(tolerance)
        self.dual = dual_value(self.cuts.planes)

    def evaluate(self, point: np.ndarray, tolerance: float) -> tuple[float, float]:
        """Return the objective at a point and its gap, in one pass; then step among the new cuts."""
        self.dual = dual_value(self.cuts.planes)
        _, risk = self.visits.visit(self.cuts, np.arange(len(self.order)), point)
        self.passes += 1
        self.primal = 0.5 * float(point @ point) + risk
        gap = self.primal - self.dual
        self.before = self.gap = max(gap, self.gap)
        self._optimise_kept_cuts(tolerance)
        return self.primal, gap

    def _optimise_kept_cuts(self, tolerance: float) -> None:
        target = max(SHARE_OF_GAP * self.gap, SHARE_OF_TOLERANCE * tolerance * self.primal)
        self.sweeps += optimise_kept_cuts(self.cuts, self.order, target, MOST_SWEEPS)

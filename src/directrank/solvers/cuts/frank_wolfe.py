"""Block-coordinate Frank-Wolfe: a structural SVM solved query by query, with closed-form steps."""

import numpy as np

from directrank.contracts import CutKernel, MostViolated, Solution, Solver
from directrank.solvers.cuts.kept_cuts import Cuts, dual_value, no_cuts, optimise_kept_cuts, reorder
from directrank.solvers.cuts.visiting_order import visiting_order
from directrank.solvers.cuts.visits import Visits, visits_of

# Between passes, steps among the stored cuts continue until their gap is this share of the last pass's gap,
# or of the tolerance, whichever is larger; at most so many sweeps.
SHARE_OF_GAP, SHARE_OF_TOLERANCE, MOST_SWEEPS = 0.05, 0.1, 50
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
    kept : int, default=8
        ≥ 2. Most cuts that are stored for a query; beyond that, the two of least weight become their mean.

    Notes
    -----
    The certificate is the duality gap of the solution: the objective there, computed in one pass, less the
    dual value. The first pass is at zero scores, and the cuts of an evaluation are stored like others. The
    gap is evaluated when the gaps found during a pass, shrinking once more as they did from the pass before,
    would meet the tolerance. Without `averaged` the last iterate is judged and returned.

    Memory is `kept` vectors of features a query. A pass is sequential over queries: on many machines, use
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

    def __init__(self, *, C=10.0, averaged=True, tolerance=1e-3, max_passes=200, kept=8):
        if not C > 0:
            raise ValueError(f"C must be positive, not {C}")
        if max_passes < 2 or kept < 2:
            raise ValueError(f"max_passes and kept must be at least 2, not {max_passes} and {kept}")
        self.C, self.averaged, self.tolerance = float(C), averaged, tolerance
        self.max_passes, self.kept = max_passes, kept

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        run = _Run(visits_of(objective, scorer, features), self.C, self.kept, features.shape[1])
        trace: list[dict] = []
        status, primal, gap, result = "budget", np.inf, np.inf, run.cuts.w
        while status == "budget" and run.passes < self.max_passes:
            if run.passes < self.max_passes - 1 and run.predicted() > self.tolerance * run.primal:
                run.step_through(rng, self.tolerance)
                trace.append({"pass": run.passes, "dual": run.dual, "expected_gap": run.gap})
                continue
            result = (run.cuts.mean if self.averaged else run.cuts.w).copy()
            primal, gap = run.evaluate(result, self.tolerance)
            judged = monitor(scorer.at(result).scores(monitor.features))
            trace.append(
                {"pass": run.passes, "objective": primal, "dual": primal - gap, "gap": gap, "monitor": judged}
            )
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


class _Run:
    """One run: the cuts, the order of the queries, and the gaps of the passes."""

    def __init__(self, visits: Visits, C: float, kept: int, n_features: int):
        self.visits = visits
        cuts = no_cuts(C * visits.weights, kept, n_features)
        natural = np.arange(len(cuts.caps))
        self.gap, self.primal = visits.visit(cuts, natural, np.zeros(n_features))
        self.at_zero, first = self.primal, natural * kept
        order = visiting_order(cuts.offsets[first], cuts.vectors[first])
        visits.reorder(order)
        reorder(cuts, order)
        self.cuts: Cuts = cuts
        self.order, self.passes, self.sweeps, self.dual = natural, 1, 0, 0.0
        self.before = self.shown = self.gap

    def predicted(self) -> float:
        """Return the gap to be expected if it shrinks once more as in the last pass."""
        return self.gap * min(1.0, self.gap / self.before) if self.passes > 1 else self.gap

    def verdict(self) -> str:
        """Return a warning if the dual value leaves almost nothing to gain over zero scores."""
        gain = 1.0 - self.dual / self.at_zero
        return "" if gain > FLAT else f"; no w lowers it from zero scores by a share of more than {gain:.0e}"

    def step_through(self, rng, tolerance: float) -> None:
        """Make a pass with a step at each query, then steps among the stored cuts."""
        self.order, self.before = rng.permutation(len(self.cuts.caps)), self.gap
        # The average forgets early iterates; else its distance to the solution would only fall as 1 / steps.
        self.cuts.steps[0] = min(self.cuts.steps[0], len(self.order))
        self.gap, risk = self.visits.visit(self.cuts, self.order, None)
        self.passes += 1
        self.primal = 0.5 * float(self.cuts.w @ self.cuts.w) + risk
        self._optimise_kept_cuts(tolerance)
        self.dual = dual_value(self.cuts)

    def evaluate(self, point: np.ndarray, tolerance: float) -> tuple[float, float]:
        """Return the objective at a point and its gap, in one pass; then step among the new cuts."""
        self.dual = dual_value(self.cuts)
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

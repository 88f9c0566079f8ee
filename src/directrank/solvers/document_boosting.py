"""Boosting over documents: each round adds a weak ranker that fits the weights of the documents."""

from copy import copy
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from directrank.contracts import (
    AdditiveScorer,
    ObjectiveOracles,
    Part,
    Solution,
    Solver,
    Step,
    StepAlong,
    TraceRow,
    ValueAndGradient,
)
from directrank.errors import check_choice
from directrank.features import scored
from directrank.features.statistics import filled, medians
from directrank.scorers import Trees, single_feature
from directrank.solvers.passes import sum_over_parts
from directrank.solvers.stumps import CRITERIA, STUMP_SEARCHES

# Less than this share of the objective at zero scores is rounding.
PERFECT = 1e-9
#: The end of a run that no weak ranker improves.
NOTHING = "converged", ": no weak ranker improves the objective"


class DocumentBoosting(Solver):
    r"""Boosting with stumps, single features or any classifier as weak rankers.

    Each round computes the weights of the documents, which are minus the gradient, finds the weak ranker h
    that agrees best with them and the best step :math:`\alpha` of the objective along it, and adds
    :math:`\nu \alpha h` to the scores.

    Parameters
    ----------
    rounds : int, default=100
    weak_ranker : {"stump", "feature"} or WeakLearner, default="stump"
        Stumps; single signed features, scaled to [0, 1]; or an object that fits weak rankers.
    search : {"exact", "histogram"}, default="exact"
        Thresholds of stumps: all of them, or at most 255 per feature.
    criterion : {"gini", "eta"}, default="gini"
        What a stump maximises, see `directrank.solvers.stumps`.
    sampling : bool, default=False
        Fit the weak ranker to documents drawn in proportion to the size of their weights, as many as there
        are, with their signs.
    shrinkage : float, default=1.0
        ν in (0, 1].
    keep : {"best", "last"}, default="best"
        The first rounds up to the best one by the monitor, or all rounds.
    patience : int, optional
        Stop after so many rounds without an improvement of the monitor.

    Notes
    -----
    The certificate is the objective at the end of the run, and the decrease that the closed forms of the
    steps guarantee, ``promised``; searched steps guarantee nothing. A run has converged when no weak ranker
    improves the objective; the number of rounds is a choice, so a run of all rounds is complete.

    Stumps of the histogram search are found from sums over shards; other weak rankers need all features here.
    """

    needs = frozenset({StepAlong, ValueAndGradient})
    trains = AdditiveScorer

    def __init__(
        self, *, rounds=100, weak_ranker: object = "stump", search="exact", criterion="gini",
        sampling=False, shrinkage=1.0, keep="best", patience=None,
    ):  # fmt: skip
        check_choice("search", search, STUMP_SEARCHES)
        check_choice("criterion", criterion, CRITERIA)
        check_choice("keep", keep, ("best", "last"))
        if isinstance(weak_ranker, str):
            check_choice("weak_ranker", weak_ranker, ("stump", "feature"))
        elif not isinstance(weak_ranker, WeakLearner):
            raise TypeError(f"weak_ranker must be 'stump', 'feature' or have fit; {weak_ranker!r} has none")
        if not 0 < shrinkage <= 1:
            raise ValueError(f"shrinkage must be above 0 and at most 1, not {shrinkage}")
        if rounds < 1 or (patience is not None and patience < 1):
            raise ValueError(f"rounds and patience must be 1 or more, not {rounds} and {patience}")
        self.rounds, self.weak_ranker, self.search, self.criterion = rounds, weak_ranker, search, criterion
        self.sampling, self.shrinkage, self.keep, self.patience = sampling, shrinkage, keep, patience
        self.sums_over_shards = weak_ranker == "stump" and search == "histogram"

    @property
    def chooses_rounds(self) -> bool:
        """Whether the monitor chooses how many rounds are trained, or kept."""
        return self.keep == "best" or self.patience is not None

    def of_rounds(self, rounds: int) -> Self:
        """Return the solver that trains so many rounds and keeps them all."""
        fixed = copy(self)
        fixed.rounds, fixed.keep, fixed.patience = rounds, "last", None
        return fixed

    def of_all_rounds(self) -> Self:
        """Return the solver that ends as this one does, and keeps all rounds that it has trained."""
        whole = copy(self)
        whole.keep = "last"
        return whole

    def solve(self, objective, scorer, features, monitor, rng) -> Solution:
        """Fit; see `directrank.contracts.Solver`."""
        run = _Run(self, objective, features, monitor)
        status, reason = run.advance(rng)
        kept, message = len(run.trace), f"Trained {len(run.trace)} rounds"
        if self.keep == "best":
            kept, message = run.best_round, f"{message}, kept the first {run.best_round}"
        promised = float(sum(row["promised"] for row in run.trace))
        return Solution(
            scorer.of(run.coefficients[:kept], run.weak_rankers[:kept]),
            status,
            {"objective": run.value, "promised": promised},
            run.trace,
            message + reason,
            kept,
        )


class _Run:
    """One run: the ensemble, its scores of training and monitored documents, and the best round so far."""

    def __init__(self, solver: DocumentBoosting, objective: ObjectiveOracles, features, monitor):
        self.solver, self.objective, self.features, self.monitor = solver, objective, features, monitor
        if isinstance(solver.weak_ranker, WeakLearner):
            self.search = Learned(solver.weak_ranker, features)
        elif solver.weak_ranker == "feature":
            self.search = FeatureSearch(objective, features)
        else:
            self.search = STUMP_SEARCHES[solver.search](objective, features, solver.criterion)
        self.coefficients: list[float] = []
        self.weak_rankers: list[Any] = []
        self.trace: list[TraceRow] = []
        self.scores, self.monitored = np.zeros(len(features)), np.zeros(len(monitor.features))
        self.value, self.weights = self._weigh()
        self.start = self.value
        self.best_round, self.best_value = 0, -np.inf

    def advance(self, rng: np.random.Generator) -> tuple[str, str]:
        """Add rounds until nothing improves or the budget is spent; return the status and the reason."""
        patience = self.solver.patience or self.solver.rounds
        while len(self.trace) < self.solver.rounds:
            if self.value <= PERFECT * self.start:
                return "converged", ": the objective is 0 but for rounding"
            ended = self._add(rng)
            if ended:
                return ended
            if len(self.trace) - self.best_round >= patience:
                return "complete", f": no improvement in the last {patience}"
        return "complete", ""

    def _add(self, rng: np.random.Generator) -> tuple[str, str] | None:
        """Add one round; return None, or the status and the reason if there is nothing to add."""
        weights = sampled_weights(self.weights, rng) if self.solver.sampling else self.weights
        weak = self.search.best(weights, rng)
        if weak is None:
            return NOTHING
        direction = predictions(weak, self.features)
        step = self.objective.step_along(self._typed(), direction)
        if not np.isfinite(step.size):
            return "stopped", ": the best step is not finite"
        if step.size == 0:
            return NOTHING
        coefficient = self.solver.shrinkage * step.size
        self.coefficients.append(coefficient)
        self.weak_rankers.append(weak)
        self.scores += coefficient * direction
        if self.monitor.features is not self.features:
            direction = predictions(weak, self.monitor.features)
        self.monitored += coefficient * direction
        self.value, self.weights = self._weigh()
        self._record(weak, coefficient, step)
        return None

    def _record(self, weak: object, coefficient: float, step: Step) -> None:
        judged = self.monitor(self.monitored)
        root = {}
        if isinstance(weak, Trees):
            root = {"feature": int(weak.feature[0]), "threshold": float(weak.threshold[0])}
        self.trace.append(
            {
                "round": len(self.trace) + 1,
                **root,
                "coefficient": float(coefficient),
                "objective": self.value,
                # The bound is convex in the step, so a share of the step guarantees that share of the
                # decrease.
                "promised": 0.0 if np.isnan(step.gained) else float(self.solver.shrinkage * step.decrease),
                "monitor": judged,
            }
        )
        if judged > self.best_value:
            self.best_round, self.best_value = len(self.trace), judged

    def _weigh(self) -> tuple[float, np.ndarray]:
        value, gradient = self.objective.value_and_gradient(self._typed())
        return value, -gradient

    def _typed(self) -> np.ndarray:
        return self.scores.astype(self.objective.dtype)


class FeatureSearch:
    """Single signed features, each scaled to [0, 1] by its range; the median stands for a missing value."""

    def __init__(self, objective: ObjectiveOracles, features: np.ndarray):
        self.fill = medians(features)
        self.objective, self.features = objective, (features := filled(features, self.fill))
        self.low = features.min(axis=0).astype(np.float64)
        self.width = features.max(axis=0) - self.low

    def best(self, weights: np.ndarray, rng: np.random.Generator) -> Trees | None:
        """Return the feature, with either sign, that agrees most with the weights."""

        def statistic(part: Part) -> tuple[np.ndarray]:
            return ((self.features[part.rows].T @ weights[part.rows]).astype(np.float64),)

        agreement = sum_over_parts(self.objective, statistic)[0]
        agreement -= self.low * weights.sum(dtype=np.float64)
        merit = np.divide(agreement, self.width, out=np.zeros(len(self.width)), where=self.width > 0)
        k = int(np.argmax(np.abs(merit)))
        if merit[k] == 0:
            return None
        low, width, fill = self.low[k], self.width[k], self.fill[k]
        if merit[k] > 0:
            return single_feature(k, slope=1.0 / width, offset=-low / width, fill=fill)
        return single_feature(k, slope=-1.0 / width, offset=1.0 + low / width, fill=fill)


@runtime_checkable
class WeakLearner(Protocol):
    """An object that fits weak rankers to weighted documents."""

    def fit(self, features: np.ndarray, weights: np.ndarray, seed: int) -> Any:
        """Return a scorer, such as a tree of `Trees`; None if there is nothing to learn."""
        ...


class Learned:
    """Weak rankers fitted by an object to the documents and their weights."""

    def __init__(self, learner: WeakLearner, features: np.ndarray):
        self.learner, self.features = learner, features

    def best(self, weights: np.ndarray, rng: np.random.Generator) -> Any:
        """Return the weak ranker fitted to the weights, or None if they are all zero."""
        if not weights.any():
            return None
        return self.learner.fit(self.features, weights, seed=int(rng.integers(2**31)))


def predictions(weak: Any, features: Any) -> np.ndarray:
    """Return the value of each row, float64 (n_docs,); that of a tree where the features are."""
    return scored(weak.scores, features) if isinstance(weak, Trees) else weak.scores(features)


def sampled_weights(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many documents as there are in proportion to |weight|; return the signed number of each."""
    size = np.abs(weights).astype(np.float64)
    total = size.sum()
    if not total > 0:
        return np.zeros(len(weights))
    drawn = rng.choice(len(weights), len(weights), p=size / total)
    return np.bincount(drawn, minlength=len(weights)) * np.sign(weights)

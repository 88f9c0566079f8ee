"""Checks of solvers: a solver asks for the oracles that it names, and says how it ended."""

from typing import Any

import numpy as np

from directrank.contracts import ORACLES, Solution, Solver, StepAlong, Surrogate, WindowStep, check_fit
from directrank.data.groups import QueryGroups
from directrank.errors import UnfitPairError
from directrank.estimators.training import MeanMonitor
from directrank.measures import AP, NDCG
from directrank.scorers import default_scorer
from directrank.surrogates import (
    ExpectedMeasure,
    MeasureItself,
    Objective,
    Pairwise,
    SmoothedPositions,
    SquaredError,
    SwapWeighted,
    TypeOneBound,
    TypeTwoBound,
    WorkingSetBound,
)
from directrank.testing.checks import Check, FailedCheckError, groups, need

#: A solver is tried on the first of these that suits it.
TRIED = (
    lambda: Pairwise(), lambda: SmoothedPositions(NDCG()), lambda: SquaredError(),
    lambda: ExpectedMeasure(NDCG()), lambda: TypeOneBound(AP()), lambda: TypeTwoBound(AP()),
    lambda: MeasureItself(AP()), lambda: WorkingSetBound(AP()), lambda: SwapWeighted(NDCG()),
)  # fmt: skip
#: The public names of an oracle, and what an objective has instead of some.
METHODS_OF = {oracle: {name for name in dir(oracle) if not name.startswith("_")} for oracle in ORACLES}
METHODS_OF[StepAlong] |= {"step_along"}
METHODS_OF[WindowStep] |= {"window_step_along"}
#: What every solver may read of an objective.
PLUMBING = {
    "offers", "is_convex", "n_docs", "n_queries", "dtype", "weights", "scale", "single_queries",
    "all_queries", "map_shards", "over_runs", "over_shards", "sum_over_shards",
}  # fmt: skip


class Recorded:
    """Stands for an object and writes down the attributes that are read of it."""

    def __init__(self, object_: Any, names: set[str]):
        self.object_, self.names = object_, names

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self.object_, name)


class RecordedSurrogate(Recorded):
    """A surrogate whose oracles are recorded, not itself."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.object_, name)

    def estimated(self, queries, weights) -> "RecordedSurrogate":
        """Return itself."""
        return self

    def on(self, queries, weights) -> Recorded:
        """Return the recorded oracles."""
        return Recorded(self.object_.on(queries, weights), self.names)


def surrogate_for(solver: Solver) -> Surrogate:
    """Return a surrogate that a solver can minimise."""
    for make in TRIED:
        surrogate = make()
        try:
            check_fit(surrogate, solver)
        except UnfitPairError:
            continue
        return surrogate
    raise FailedCheckError("no surrogate of directrank offers the oracles that it needs")


def solve(
    solver: Solver, surrogate: Any, data: QueryGroups, *, n_threads: int = 1, seed: int = 0
) -> Solution:
    """Return the solution on some queries, selected by AP."""
    objective: Any = Objective(surrogate, data.queries, data.shards, n_threads=n_threads)
    scorer, rng = default_scorer(solver.trains), np.random.default_rng(seed)
    return solver.solve(objective, scorer, data.features, MeanMonitor(AP(), data), rng)


def names_its_oracles(solver: Solver) -> None:
    """Names the oracles that it needs and uses, and some surrogate offers them."""
    need(
        solver.needs <= set(ORACLES) and solver.uses <= set(ORACLES), "it names an oracle that does not exist"
    )
    surrogate_for(solver)


def calls_what_it_names(solver: Solver) -> None:
    """Calls the oracles that it names, and no others."""
    check_calls(solver, surrogate_for(solver))


def check_calls(solver: Solver, surrogate: Surrogate, optional: bool = True) -> set[str]:
    """Return what a solver reads of an objective; `optional` if the oracles that it uses are there."""
    data, calls = groups(), set()
    recorded: Any = RecordedSurrogate(surrogate, calls)
    if not optional:
        recorded.offers = solver.needs
    objective = Objective(recorded, data.queries, data.shards)
    _ = objective.scale  # the objective's own use of the value at zero scores
    calls.clear()
    scorer, rng, monitor = default_scorer(solver.trains), np.random.default_rng(0), MeanMonitor(AP(), data)
    seen: Any = Recorded(objective, calls)
    solver.solve(seen, scorer, data.features, monitor, rng)
    declared = {name for oracle in solver.needs | solver.uses for name in METHODS_OF[oracle]}
    more = calls - PLUMBING - declared
    need(not more, f"it calls {', '.join(sorted(more))}, of an oracle that it does not name")
    return calls


def says_how_it_ended(solver: Solver) -> str:
    """Says how it ended: a status, a certificate, a trace and a sentence."""
    solution = solve(solver, surrogate_for(solver), groups())
    check_solution(solution)
    return f"{solution.status} on {surrogate_for(solver).name}: {solution.message}"


def check_solution(solution: Solution) -> None:
    """Raise `FailedCheckError` unless a solution says how it ended."""
    statuses = ("converged", "stopped", "budget", "complete")
    need(solution.status in statuses, f"the status {solution.status!r} is not one of {', '.join(statuses)}")
    numbers = all(isinstance(number, float) for number in solution.certificate.values())
    need(numbers, "the certificate holds something other than a float")
    need(solution.trace, "the trace is empty")
    need(solution.message, "there is no message")
    finite = all(np.isfinite(list(row.values())).all() for row in solution.trace)
    need(finite, "a number of the trace is not finite")


def does_not_write_into_features(solver: Solver, surrogate: Surrogate | None = None) -> None:
    """Does not write into features."""
    data = groups()
    before = data.features.tobytes()
    solve(solver, surrogate or surrogate_for(solver), data)
    need(data.features.tobytes() == before, "the features are not what they were")


#: In the order of trying.
CHECKS: tuple[Check, ...] = (
    names_its_oracles,
    calls_what_it_names,
    says_how_it_ended,
    does_not_write_into_features,
)

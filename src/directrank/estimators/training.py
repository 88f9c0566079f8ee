"""Training: from queries, a surrogate, a solver and a scorer to a solution, without an estimator."""

import logging
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from directrank.contracts import (
    InRounds,
    LinearScorer,
    Measure,
    Part,
    Prepared,
    Solution,
    Solver,
    Surrogate,
    ValueAndGradient,
)
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.estimators.rounds import ALL, FEW, held_out, mean_curve
from directrank.features import one_blas_thread
from directrank.features.shards import cut_by_documents
from directrank.features.sharing import once
from directrank.features.statistics import deviations_in_queries
from directrank.measures import mean_values
from directrank.scorers import Linear
from directrank.scorers.scaling import Scaling, fit_scaling
from directrank.surrogates import Objective
from directrank.timing import FOR_PROFILE, Profile, current_profile, phase, tell

#: The step of the solver that a profile divides.
STEPS = ("scores", "surrogate", "product")


@dataclass(frozen=True)
class Request:
    """What a ranker is to be trained on, and from where.

    Parameters
    ----------
    groups, weights
        The training queries, and the weights of queries.
    validation : QueryGroups, optional
        The queries that choose among iterates, rounds and starts.
    start : Ranker, array or str, optional
        Where training starts (`directrank.estimators.starts`).
    rounds : int, optional
        A number of rounds that is known; with `ALL` the validation set ends training, and all rounds until
        then are kept.
    refit : bool, default=False
        Whether to train on the validation queries too, once they have chosen.
    is_copy : bool, default=False
        Whether the groups belong to this fit alone, and may be written to.
    candidates : sequence of Ranker or None, default=()
        Of an ensemble: the rankers from which it chooses, of which it trains those that are None.
    monitored : bool, default=True
        Whether the measure is computed after each round where the number of rounds is known.
    """

    groups: QueryGroups
    weights: np.ndarray | None = None
    validation: QueryGroups | None = None
    start: Any = None
    rounds: int | None = None
    refit: bool = False
    is_copy: bool = False
    candidates: Sequence[Any] = ()
    monitored: bool = True

    def on_both(self, rounds: int | None = None) -> "Request":
        """Return the request for training and validation queries as one set, with a number of rounds.

        Validation queries have the mean weight of training queries.
        """
        if self.groups.source.workers is not None:
            raise ValueError("refit=True needs the queries in this process, not on workers: pass refit=False")
        assert self.validation is not None
        groups, weights = QueryGroups.concatenate([self.groups, self.validation]), self.weights
        if weights is not None:
            weights = np.append(weights, np.full(self.validation.n_queries, weights.mean()))
        return replace(
            self, groups=groups, weights=weights, validation=None, rounds=rounds, refit=False, is_copy=False
        )


@dataclass(frozen=True)
class Components:
    """What is trained, and how: the parameters of an estimator as objects.

    Parameters
    ----------
    name : str
        What messages call it.
    surrogate, solver, scorer
        The loss, what minimises it, and the scorer without coefficients.
    measure : Measure
        The measure that chooses among iterates.
    scaling : str or None
        Of the features of a linear scorer.
    seed : int
        Of the division into held-out queries, and of what each solver draws.
    n_threads : int
    initial : callable
        Returns the scorer from which training starts, where the request has a start or categories, from that
        without coefficients, the request with scaled features, and the scaling.
    on_training : bool
        Whether the training queries choose among iterates though there are validation queries.
    others : sequence of Solver, default=()
        Of a solver that chooses its rounds: the monitor also chooses between it and these.
    """

    name: str
    surrogate: Surrogate
    solver: Any
    scorer: Any
    measure: Measure
    scaling: Any
    seed: int
    n_threads: int
    initial: Callable[[Any, Request, Scaling], Any]
    on_training: bool = False
    others: Sequence[Any] = ()


@dataclass(frozen=True)
class Fit:
    """What training returns: a solution with a scorer of raw features, its scaling, and notes."""

    solution: Solution
    scaling: Scaling
    left_out: np.ndarray
    notes: list[str]
    deviations: np.ndarray | None


def train(components: Components, request: Request) -> Fit:
    """Minimise the loss on the training queries, and keep what the measure finds best.

    Raises DataError if there is nothing to learn from, or lists are too long for the loss.
    """
    surrogate, weights = components.surrogate, request.weights
    groups, queries, workers = request.groups, request.groups.queries, request.groups.source.workers
    work = surrogate.work(queries)
    n_threads = useful_threads(work, len(groups.shards), components.n_threads)
    work = work if weights is None else work * (weights > 0)
    refuse_long_lists(components.name, work, components.solver, queries, groups.n_features)
    shards = groups.shards if components.solver.streams else cut_by_documents(groups.shards, queries.indptr)
    objective_of = partial(Objective, surrogate, queries, shards, n_threads=n_threads, workers=workers)
    objective = objective_of(weights=weights)
    with phase("scaling"):
        scaling, scaled = scaled_request(components.scaling, components.scorer, request, n_threads)
    selection = scaled.groups if components.on_training else scaled.validation or scaled.groups
    monitor: Any = MeanMonitor(components.measure, selection, weights if selection is scaled.groups else None)
    if not request.monitored:
        monitor = NoMonitor(scaled.groups)
    scorer = components.scorer
    if request.start is not None or groups.encoding is not None:
        scorer = components.initial(scorer, scaled, scaling)
    # Numbers that overflow end in an error that says what to do.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        with phase("solver"):
            solvers, chosen = [components.solver], ""
            if isinstance(components.solver, InRounds) and components.solver.chooses_rounds:
                solvers, chosen = with_rounds(components, objective, objective_of, scorer, scaled)
            solutions = [
                each.solve(
                    objective if each is solvers[-1] else objective_of(weights=weights), scorer,
                    scaled.groups.features, monitor, np.random.default_rng(components.seed),
                )
                for each in solvers
            ]  # fmt: skip
            solution = solutions[0]
            if len(solutions) > 1:
                solution = max(solutions, key=lambda each: max(_monitored(each), default=0.0))
        if (profile := current_profile()) and workers is None:
            with phase(FOR_PROFILE):
                divide_pass(profile, objective, solution.scorer, scaled.groups.features)
    deviations = None
    if scaling.fill is not None:
        rows = None if weights is None else np.repeat(weights, queries.sizes)
        spread = once(
            "deviations", (scaled.groups, weights),
            lambda: deviations_in_queries(scaled.groups.source, rows, n_threads),
        )  # fmt: skip
        deviations = scaling.raw_deviations(spread)
    solution = replace(solution, scorer=scaling.scorer(solution.scorer), message=solution.message + chosen)
    notes = [*objective.notes(), *scaling.notes]
    return Fit(solution, scaling, queries.qid[objective.left_out], notes, deviations)


def scaled_request(kind: Any, scorer: Any, request: Request, n_threads: int) -> tuple[Scaling, Request]:
    """Return the scaling fitted to the training queries, and the request with scaled features.

    There is none for a scorer that is not linear, which needs no number in place of a missing value. Fits
    that share their data share it too.
    """
    groups, weights, validation = request.groups, request.weights, request.validation

    def scaled() -> tuple[Scaling, QueryGroups, QueryGroups | None]:
        scaling = Scaling("none")
        if type(scorer) is Linear:
            scaling = fit_scaling(kind or "none", groups, weights, n_threads)
            logging.getLogger("directrank").info("scaling=%s: %s %s", kind, scaling.kind, scaling.reason)
        training = scaling.of(groups, n_threads, in_place=request.is_copy)
        return scaling, training, validation and scaling.of(validation, n_threads)

    key = kind, type(scorer), groups, weights, validation
    scaling, groups, validation = once("scaled features", key, scaled)
    return scaling, replace(request, groups=groups, validation=validation)


def with_rounds(
    components: Components, objective: Any, objective_of: Callable[..., Objective], scorer: Any,
    request: Request,
) -> tuple[list[Any], str]:  # fmt: skip
    """Return the solver with a chosen number of rounds, and how it was chosen.

    There are several if the validation set is still to choose one. Without such a set the solver and the
    number are the best on queries that are held out: `objective_of` returns the objective for weights of
    queries, and a query that is held out has none.
    """
    solver: Any = components.solver
    solvers = [solver, *components.others]
    if request.rounds == ALL:
        return [each.of_all_rounds() for each in solvers], ""
    if request.rounds is not None:
        words = " on all queries: the number that was best on held-out queries"
        return [solver.of_rounds(request.rounds)], words
    if request.validation is not None:
        return solvers, ""
    groups, measure, seed = request.groups, components.measure, components.seed
    weights = np.ones(groups.n_queries) if request.weights is None else request.weights
    usable = ~objective_of(weights=weights).left_out
    masks = held_out(groups, usable, seed)
    if not masks:
        return [solver], f", by {measure.name} on the training query: there is no other one to hold out"
    best: np.ndarray = np.zeros(0)
    for each in solvers:
        if isinstance(each, Prepared):
            each = each.prepared(objective, groups.features, scorer)
        curves = []
        for mask in masks:
            monitor = MeanMonitor(measure, groups, np.where(mask, weights, 0.0))
            rest: Any = objective_of(weights=np.where(mask, 0.0, weights))
            held = each.solve(rest, scorer, groups.features, monitor, np.random.default_rng(seed))
            curves.append(_monitored(held))
        curve = mean_curve(curves, [weights[mask].sum() for mask in masks])
        if max(curve, default=0.0) > max(best, default=-math.inf):
            solver, best = each, curve
    if not len(best):
        return [solver], ""
    rounds = 1 + int(np.argmax(best))
    n_queries, tried = np.count_nonzero(usable), len(best)
    where = (
        f"on a held-out fifth of the queries, {np.count_nonzero(masks[0])} of {n_queries}"
        if len(masks) == 1
        else f"on held-out queries, in {len(masks)} folds: fewer than {FEW} queries"
    )
    return [solver.of_rounds(rounds)], (f" on all queries (the best of {tried} by {measure.name} {where})")


def _monitored(solution: Solution) -> list[float]:
    """Return the value of the monitor after each round."""
    return [row["monitor"] for row in solution.trace if "monitor" in row]


class MeanMonitor:
    """The mean of a measure over queries, for scores of their documents: a `directrank.contracts.Monitor`."""

    def __init__(self, measure: Measure, groups: QueryGroups, weights: np.ndarray | None = None):
        self.measure, self.groups, self.weights = measure, groups, weights
        self.features = groups.features

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean for scores in the inner order, or minus infinity if a score is not finite."""
        if not np.isfinite(scores).all():
            return -math.inf
        with phase("monitor"):
            value = mean_values([self.measure], self.groups.queries, scores, self.weights, n_threads=1)[0]
        tell(self.measure.name, value)
        return value


class NoMonitor:
    """A monitor of no documents, for rounds whose number is known."""

    def __init__(self, groups: QueryGroups):
        self.features = groups.features[:0]

    def __call__(self, scores: np.ndarray) -> float:
        """Return 0."""
        return 0.0


#: Work for one query in one evaluation of a loss (`Surrogate.work`): about two seconds of one processor.
LARGEST_WORK = 5e8
#: Seconds of a step of work. Training that takes minutes for the lists of more than `LONG` documents is
#: announced, and training that takes hours for them is refused.
STEP, LONG, LONG_MINUTES, MOST_MINUTES = 4e-9, 1000, 10, 720
REMEDY = (
    "use a method whose cost grows as n log n, such as ranksvm, consistent-ndcg, listnet, svmmap, rankboost, "
    "approxndcg or ranknet; a measure with a cutoff for lambdarank, lambdaloss or coordinate-ascent, such as "
    "nDCG@10; or keep fewer documents of the query, such as the first of an earlier ranking"
)


def refuse_long_lists(
    method: str, work: np.ndarray, solver: Solver, queries: Queries, n_features: int
) -> None:
    """Raise DataError if queries have so many documents that training would seem to hang; warn of minutes."""
    query, long = int(np.argmax(work)) if len(work) else 0, queries.sizes > LONG
    if work.max(initial=0.0) <= LARGEST_WORK:
        if not long.any():
            return
        steps = solver.n_evaluations(n_features) * work.sum(where=long)
        if (minutes := STEP * steps / 60) <= LONG_MINUTES:
            return
        text = (
            f"{method}: training takes about {minutes:,.0f} minutes of a processor for the "
            f"{long.sum():,} queries of more than {LONG:,} documents, such as "
            f"{queries.qid[query]} with {queries.sizes[query]:,}; "
        )
        if minutes <= MOST_MINUTES:
            warnings.warn(f"{text}to save time, {REMEDY}", UserWarning, stacklevel=6)
            return
        raise DataError(f"{text}at most {MOST_MINUTES} are accepted; {REMEDY}")
    raise DataError(
        f"query {queries.qid[query]} has {queries.sizes[query]:,} documents, too many for {method}: one "
        f"evaluation of its loss takes {work[query]:.0e} steps there, and at most {LARGEST_WORK:.0e} are "
        f"accepted; {REMEDY}"
    )


#: Fewest shards, or steps of `Surrogate.work`, of a thread: with less it takes longer to start than to run.
SHARDS_A_THREAD, STEPS_A_THREAD = 2, 2**18


def useful_threads(work: np.ndarray, n_shards: int, n_threads: int) -> int:
    """Return how many of some threads have enough to do in a pass over the data; 1 or more."""
    enough = max(n_shards // SHARDS_A_THREAD, int(float(work.sum()) // STEPS_A_THREAD))
    return max(1, min(n_threads, enough))


def divide_pass(profile: Profile, objective: Any, scorer: Any, features: np.ndarray) -> None:
    """Add to a profile's facts the seconds of a read pass, and those of each step of a gradient.

    The steps are the scores, value and gradient of the surrogate, and the product with the features. Inside
    a compiled loop they overlap, and a pass takes less time than their sum.
    """
    start = time.perf_counter()
    objective.map_shards(lambda parts: [features[part.rows].sum() for part in parts])
    profile.facts["read"] = time.perf_counter() - start
    if ValueAndGradient not in objective.offers or not isinstance(scorer, LinearScorer):
        return
    parameters = np.asarray(scorer.coefficients, objective.dtype)
    scores = np.empty(objective.n_docs, objective.dtype)
    slopes = np.empty_like(scores)

    def score(part: Part) -> None:
        scores[part.rows] = scorer.forward(parameters, features[part.rows], objective.dtype)

    def differentiate(part: Part) -> None:
        slopes[part.rows] = part.oracles.value_and_gradient(scores[part.rows])[1]

    def multiply(part: Part) -> None:
        scorer.backward(features[part.rows], slopes[part.rows])

    for name, step in zip(STEPS, (score, differentiate, multiply), strict=True):
        for _ in range(2):  # The second time nothing is compiled.
            start = time.perf_counter()
            objective.map_shards(lambda parts, step=step: [step(part) for part in parts])
            profile.facts[name] = time.perf_counter() - start

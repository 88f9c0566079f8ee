"""The map of the library: four nouns, what each knows, and what passes between them.

Every method is a surrogate, a solver and a scorer. Three of them, and the check that they fit:

===================== ========================================== ======================== ===========
method                surrogate                                  solver                   scorer
===================== ========================================== ======================== ===========
RankSVM               ``Pairwise(margin="squared_hinge")``       ``TruncatedNewton()``    ``Linear()``
LambdaMART            ``SwapWeighted(NDCG(), weights="swap")``   ``TreeBoosting()``       ``Trees()``
ApproxNDCG            ``SmoothedPositions(NDCG())``              ``LBFGS()``              ``Linear()``
===================== ========================================== ======================== ===========

>>> check_fit(Pairwise(margin="squared_hinge"), TruncatedNewton(), scorer=Linear())
>>> check_fit(SwapWeighted(NDCG(), weights="swap"), TreeBoosting(), scorer=Trees())
>>> check_fit(SmoothedPositions(NDCG()), LBFGS(), scorer=Linear())

All minimise one function of the parameters θ:

    minimise over θ     (1/|Q|) Σ_q  S_E( y_q , f_θ(X_q) )  +  penalty(θ)

=========== ============================================= ==================== ======================
noun        is                                            knows                never sees
=========== ============================================= ==================== ======================
Measure E   E(π, y) in [0, 1]                             relevance, positions scores
Surrogate S a measure made into a function of scores      relevance, scores    features, parameters
Scorer f    features → scores                             features, parameters relevance, measure
Solver      moves θ using only the oracles it names       scorer, oracles      relevance, measure
=========== ============================================= ==================== ======================

An `Objective` is a surrogate on data; a solver sees the data only through the objective and its scorer. A
surrogate `offers` a set of oracles, each a Protocol below; a solver `needs` some and `uses` others where they
are offered, and calls the methods of those that it declares and no others. `check_fit` refuses a surrogate, a
solver and a scorer that do not fit when they are put together.

All oracles stand here, those of a single surrogate and a single solver too, because neither may see the
other. They take one flat vector of scores, shape (n_docs,), float32 or float64. ``surrogate.on(queries,
weights)`` has them for these queries, each counted with its weight; an objective adds up over all queries,
under the same names.
Surrogates and solvers inherit from `Surrogate` and `Solver`, and with that what they leave undeclared.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from directrank.errors import UnfitPairError

if TYPE_CHECKING:
    from directrank.data.queries import Queries

__all__ = [
    "GOOD",
    "ORACLES",
    "AdditiveScorer",
    "ApproximationErrors",
    "Curvature",
    "CutKernel",
    "DifferentiableScorer",
    "GradientKernel",
    "HessianVector",
    "InRounds",
    "Item",
    "KernelPlugin",
    "LinearScorer",
    "Measure",
    "Monitor",
    "MostViolated",
    "ObjectiveOracles",
    "Oracles",
    "Part",
    "Positions",
    "Prepared",
    "QueryPlugin",
    "QueryValues",
    "QueryWeights",
    "Result",
    "Reweighable",
    "Scorer",
    "Solution",
    "Solver",
    "Staged",
    "Step",
    "StepAlong",
    "Surrogate",
    "Targets",
    "TraceRow",
    "Value",
    "ValueAndGradient",
    "ViolatedPairs",
    "WindowStep",
    "check_fit",
    "fitting_solvers",
]

#: Oracles on the scores of some queries: those below that the surrogate offers, as `isinstance` says.
Oracles = Any
#: A NamedTuple of arrays whose type chooses a compiled function, as `directrank.kernels.plugins` has them.
KernelPlugin = Any
#: What a solver records of an iteration, by name.
TraceRow = dict[str, Any]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Positions:
    """The possible ranks of each document.

    Document i takes each position ``above[i] + 1, …, above[i] + tied[i]`` with equal probability.

    Parameters
    ----------
    above : ndarray of shape (n_docs,), int32
        Documents ranked before the block of the document. Infinite, and then float64, for documents that a
        run does not hold: see `Measure`.
    tied : ndarray of shape (n_docs,), int32
        Documents in its block, itself included; 0 where the position was not computed.
    """

    above: np.ndarray
    tied: np.ndarray


@runtime_checkable
class Measure(Protocol):
    """A function of positions and relevance, in [0, 1], larger is better.

    What a measure leaves undeclared is as here: it reads all documents and all grades, and is undefined
    without relevant documents. `directrank.measures.families.definition.Definition` adds parameters and the
    name.
    """

    #: The name without parameters and cutoff, such as ``nDCG``.
    bare_name: ClassVar[str]
    #: One sentence for newcomers.
    meaning: ClassVar[str]
    #: Whether more than two grades can change the value.
    graded: ClassVar[bool] = True
    #: Whether all values lie in [0, 1].
    bounded: ClassVar[bool] = True
    #: Whether neither larger nor smaller values are better, as of a number of documents.
    neutral: ClassVar[bool] = False
    #: Whether it takes real labels (`directrank.data.RealLabels`), in which it is linear.
    takes_real: ClassVar[bool] = False
    #: The rank of documents that a run does not hold: "infinite", so that they add nothing; "beyond" for a
    #: measure that needs whole numbers and adds nothing where ``above >= queries.longest``; "counted", which
    #: is "beyond" for a measure that depends on how many documents the run holds; or "last", tied.
    unretrieved: ClassVar[Literal["infinite", "beyond", "counted", "last"]] = "infinite"
    #: Whether it reads the subtopics of queries, so that its best order is not that of grades.
    reads_subtopics: ClassVar[bool] = False

    #: How the value changes with grades: it "rises" with each, or only where a document of grade 0 and one of
    #: the largest grade below it swap grades ("swaps"); None if neither is known. Bounds over unjudged
    #: documents follow from it.
    over_grades: ClassVar[Literal["rises", "swaps"] | None] = None

    @property
    def name(self) -> str:
        """The canonical name, in ir_measures' grammar."""
        ...

    @property
    def is_error(self) -> bool:
        """Whether reports print 1 − value, so that smaller is better."""
        return False

    @property
    def deciding_ranks(self) -> int | None:
        """How many first ranks decide whether a ranking is perfect; None for all."""
        ...

    def with_largest_grade(self, grade: float) -> "Measure":
        """Return the measure for a data set of this largest grade: itself, unless it needs to know."""
        return self

    def n_read(self, queries: "Queries") -> np.ndarray:
        """How many first documents of each query have their positions read, int64 (n_queries,).

        Documents are sorted by descending relevance; most measures read the positions of relevant
        documents only.
        """
        return queries.sizes

    def undefined(self, queries: "Queries") -> np.ndarray:
        """Which queries have no value, bool (n_queries,): those without a relevant document."""
        return queries.n_positive == 0

    def uninformative(self, queries: "Queries") -> np.ndarray:
        """Which queries have the same value for every ranking, bool (n_queries,); training skips them."""
        return queries.single_grade

    @abstractmethod
    def query_values(self, queries: "Queries", positions: Positions) -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        ...


@runtime_checkable
class Surrogate(Protocol):
    """A measure made into a function of scores; smaller is better."""

    #: The oracles of the surrogate on queries (`on`).
    offers: frozenset[type]
    #: The oracles that a solver has to call, or the surrogate means something else.
    requires: frozenset[type] = frozenset()
    #: Whether it lies above 1 − E everywhere, is convex in the scores, and has a continuous derivative.
    is_bound: bool
    is_convex: bool
    is_smooth: bool
    #: The measure that it is made of, a `Measure`, or None.
    measure: Any = None
    #: What its name says besides the measure, such as a margin.
    variant: str = ""
    #: Whether it is a sum over documents or pairs that reads the confidence of documents (`Queries`).
    weighs_documents: bool = False
    #: Whether it takes real labels (`directrank.data.RealLabels`) where it has no measure; with one, the
    #: measure decides, and a bound on 1 − E takes none: such a measure is not in [0, 1].
    takes_real: bool = False
    #: What its random numbers are drawn from, or None if it draws none.
    seed: int | None = None

    @property
    def name(self) -> str:
        """The class with the measure and the variant, such as ``SmoothedPositions(nDCG@10)``."""
        parts = [self.measure.name] if self.measure is not None else []
        of = ", ".join(parts + ([self.variant] if self.variant else []))
        return type(self).__name__ + (f"({of})" if of else "")

    def uninformative(self, queries: "Queries") -> np.ndarray:
        """Return which queries training skips, bool (n_queries,): by default those with nothing to rank."""
        return queries.single_grade if self.measure is None else self.measure.uninformative(queries)

    def work(self, queries: "Queries") -> np.ndarray:
        """Return steps of 4 ns in an evaluation on each query, float64 (n_queries,); 0: no list is long."""
        return np.zeros(queries.n_queries)

    def estimated(self, queries: "Queries", weights: np.ndarray) -> "Surrogate":
        """Return the surrogate with its parameters that depend on all training queries; by default itself."""
        return self

    def easier(self) -> "Sequence[Surrogate]":
        """Return the surrogates to minimise before this one, easiest first; none by default."""
        return ()

    def notes(self, queries: "Queries") -> list[str]:
        """Return messages about what it makes of these queries; none by default."""
        return []

    @classmethod
    def audit_rows(cls, measure: Measure, queries: "Queries", scores: np.ndarray) -> list[Any]:
        """Return rows of an audit of scores (`directrank.surrogates.oracles`); none by default."""
        return []

    def on(self, queries: "Queries", weights: np.ndarray) -> Oracles:
        """Return the oracles of `offers` on some queries, each with a weight ≥ 0.

        Oracles that return a sum weight each query; a query of weight 0 adds nothing. Scores may be float32
        or float64; gradients have the type of the scores.
        """
        ...


@runtime_checkable
class Scorer(Protocol):
    """Features to scores."""

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Scores of documents, float64 (n_docs,). A row's score depends on that row alone, bit for bit."""
        ...


@runtime_checkable
class DifferentiableScorer(Scorer, Protocol):
    """A scorer with a flat parameter vector."""

    def initial(self, n_features: int) -> np.ndarray:
        """The parameters from which training starts, float64."""
        ...

    def forward(self, parameters: np.ndarray, features: np.ndarray, dtype: object) -> np.ndarray:
        """Scores at `parameters`, of type `dtype` and shape (n_docs,), for the gradient's kernels."""
        ...

    def backward(self, features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Derivative with respect to the parameters, from that with respect to scores; float64."""
        ...

    def at(self, parameters: np.ndarray) -> "Scorer":
        """The scorer with these parameters."""
        ...


@runtime_checkable
class LinearScorer(DifferentiableScorer, Protocol):
    """A scorer whose parameters are the coefficients of the features, so that compiled loops can score."""

    @property
    def coefficients(self) -> np.ndarray | None:
        """The coefficients, float64 (n_features,), or None before training."""
        ...


@runtime_checkable
class AdditiveScorer(Scorer, Protocol):
    """A scorer that is a weighted sum of weak rankers."""

    def of(self, coefficients: Sequence[float], weak_rankers: Sequence[Scorer]) -> "Scorer":
        """The sum of these weak rankers, each a scorer."""
        ...


@dataclass(frozen=True)
class Step:
    """A step along a direction of scores.

    Attributes
    ----------
    size : float
        0 where no step helps; negative where a step backwards does.
    decrease : float
        How much the objective falls: at least, in closed form; measured, after a search.
    gained, lost : float
        Weight of the pairs that the direction puts right, and of those it inverts; NaN after a search.
    """

    size: float
    decrease: float
    gained: float = float("nan")
    lost: float = float("nan")


@runtime_checkable
class Value(Protocol):
    """The value alone."""

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted sum over queries."""
        ...


@runtime_checkable
class ValueAndGradient(Protocol):
    """The value and its first derivative."""

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sum over queries and its derivative, (n_docs,), of the type of `scores`."""
        ...


@runtime_checkable
class Curvature(Protocol):
    """The value, the gradient and the diagonal of the second derivative, made positive."""

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return what `ValueAndGradient` does, and the curvature.

        The curvature is how fast the derivative with respect to each score changes, (n_docs,), ≥ 0: the
        exact diagonal where the surrogate is convex with a second derivative everywhere, and for hinges
        that of a parabola above them. For smooth positions it bounds the diagonal of the measure made
        linear in them; the measure itself can bend many times as much. Elsewhere it bounds the diagonal's
        absolute value. It is 0 only where the derivative with respect to that score is 0 for good, as for
        the documents of a query of weight 0, or by underflow.
        """
        ...


@runtime_checkable
class HessianVector(Protocol):
    """The second derivative."""

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times a direction of scores, (n_docs,)."""
        ...


@runtime_checkable
class Targets(Protocol):
    """The scores that a closed form fits."""

    def targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the score that each document should have, and its weight, float64 (n_docs,)."""
        ...


@runtime_checkable
class QueryValues(Protocol):
    """The measure, query by query."""

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        ...


@runtime_checkable
class QueryWeights(Protocol):
    """The weights of boosting over queries."""

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """Return the weight of each query, float64 (n_queries,); 0 for queries that are skipped."""
        ...


@runtime_checkable
class StepAlong(Value, Protocol):
    """The best step along a direction of scores: in closed form from sums, else by a search for the value.

    An objective has `step_along`, which combines these methods.
    """

    def has_closed_form(self, direction: np.ndarray) -> bool:
        """Say whether the step along a direction has a closed form."""
        ...

    def along(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what the closed form reads; such arrays add up over queries."""
        ...

    def closed_form_step(self, sums: np.ndarray) -> Step:
        """Return the step that the sums over all queries give."""
        ...

    def line(self, scores: np.ndarray, direction: np.ndarray) -> Callable[[float], float]:
        """Return a function from a step along a direction to the value there, but for a constant."""
        ...


@runtime_checkable
class WindowStep(Value, Protocol):
    """The step along a direction to the best average over a window; see `window_step_along`."""

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the value for each row of scores, float64 (n_rows,)."""
        ...

    def line_sums(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return what the step is computed from; such arrays add up over queries."""
        ...

    def window_step(self, sums: np.ndarray, least: float = -np.inf) -> Step:
        """Return the step that the sums give, not below `least`; its decrease is that of the average."""
        ...


@runtime_checkable
class MostViolated(Protocol):
    """One cut per query: a plane below its value that touches it."""

    def most_violated(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the offset of each query's cut, float64 (n_queries,), and its direction, (n_docs,).

        The value of query q, not weighted, is ``offsets[q] + direction[rows] @ scores[rows]``.
        """
        ...


@runtime_checkable
class ViolatedPairs(Protocol):
    """Pairs of a perfect and an imperfect ranking, for working sets of rankings."""

    def violated_pairs(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return each query's perfect ranking of least F and its imperfect one of greatest F.

        Returns
        -------
        perfect, imperfect : ndarray of shape (n_docs,), float64
            F of each as coefficients of the scores; zeros for a query without an imperfect ranking.
        losses : ndarray of shape (n_queries,), float64
            The measure of the first less that of the second.
        """
        ...

    def pair_loss(self) -> Any:
        """Return what a pair adds to the bound, a `directrank.surrogates.rankings.working_set.PairLoss`."""
        ...


@runtime_checkable
class Reweighable(Protocol):
    """Weights that depend on the ranking."""

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix the weights at the ranking of these scores."""
        ...


@runtime_checkable
class ApproximationErrors(Protocol):
    """How far an approximation is from its measure."""

    def approximation_errors(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each query's error, and a proved bound on it, float64 (n_queries,)."""
        ...


class QueryPlugin(Protocol):
    """A named tuple of arrays whose type chooses the kernel of a query in a compiled loop over queries.

    If it has an array `by_oracles`, bool (n_queries,), its kernel computes none of these queries.
    """

    @property
    def indptr(self) -> np.ndarray:
        """Where queries begin and end, int64 (n_queries + 1,)."""
        ...

    @property
    def longest(self) -> int:
        """The number of documents of the longest query, by which the loop makes room for its kernel."""
        ...


@runtime_checkable
class GradientKernel(Protocol):
    """The gradient inside a compiled loop over queries."""

    def gradient_plugin(self) -> QueryPlugin:
        """Return the arrays that `directrank.kernels.plugins.query_gradient` reads."""
        ...


@runtime_checkable
class CutKernel(Protocol):
    """The most violated cut inside a compiled loop over queries."""

    def cut_plugin(self) -> QueryPlugin:
        """Return the arrays that `directrank.kernels.plugins.cut_of_query` reads."""
        ...


@runtime_checkable
class Staged(Protocol):
    """An objective that is reached through easier ones."""

    @property
    def stages(self) -> "Sequence[ObjectiveOracles]":
        """Objectives on the same data to minimise before this one, each from where the one before ended."""
        ...


#: Every oracle.
ORACLES: tuple[type, ...] = (
    Value, ValueAndGradient, Curvature, HessianVector, Targets, QueryValues, QueryWeights, StepAlong,
    WindowStep, MostViolated, ViolatedPairs, Reweighable, ApproximationErrors, GradientKernel,
    CutKernel, Staged,
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """Some consecutive queries of an objective: their rows and numbers, and the oracles on their scores."""

    rows: slice
    queries: slice
    oracles: Oracles
    ends: np.ndarray  # (n_queries + 1,), int64: Where its queries begin and end, from its first row


class ObjectiveOracles(
    Value, ValueAndGradient, Curvature, HessianVector, QueryValues, QueryWeights, Reweighable,
    GradientKernel, Staged, Protocol,
):  # fmt: skip
    """What a solver sees of the data (see `directrank.surrogates.objective`): the oracles of `offers`."""

    offers: frozenset[type]
    #: Whether it is one convex function of the scores, which no new weights change.
    is_convex: bool
    n_docs: int
    n_queries: int
    #: Threads that map over shards; results do not depend on it.
    n_threads: int
    #: Type of the scores in training, float32 or float64.
    dtype: Any
    #: Weight of each query, float64 (n_queries,), summing to 1; 0 for queries that are skipped.
    weights: np.ndarray

    @property
    def scale(self) -> float:
        """The factor of values and gradients of parts that makes the value at zero scores 1."""
        ...

    def step_along(self, scores: np.ndarray, direction: np.ndarray) -> Step:
        """Return the best step along a direction of scores, float64 (n_docs,); see `StepAlong`."""
        ...

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the objective for each row of scores, float64 (n_rows,); see `WindowStep`."""
        ...

    def window_step_along(self, scores: np.ndarray, direction: np.ndarray, least: float = -np.inf) -> Step:
        """Return the step along a direction of scores, float64 (n_docs,); see `WindowStep`."""
        ...

    def single_queries(self) -> Sequence[Part]:
        """Return one part for each query that can train."""
        ...

    def all_queries(self) -> Part:
        """Return all queries as one part."""
        ...

    def map_shards(self, statistic: Callable[[Sequence[Part]], Result]) -> list[Result]:
        """Apply a statistic to the parts of each shard, possibly in parallel; results in shard order."""
        ...

    def on_threads(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to each item, such as a block of columns; results in the order of items."""
        ...

    def over_shards(
        self,
        statistic: Callable[..., Result],
        features: object,
        *arguments: object,
        rows: Sequence[np.ndarray] = (),
    ) -> list[Result]:
        """Apply a statistic of features to each shard, where its features are; results in shard order.

        It is a function of a module, which can be sent to another process, and is called as
        ``statistic(objective, features, parts, *arguments, *rows)``. In another process the objective, the
        features, the parts and the vectors of documents in `rows` are those of the shard alone.
        """
        ...

    def sum_over_shards(
        self,
        statistic: Callable[..., Sequence[object]],
        features: object,
        *arguments: object,
        rows: Sequence[np.ndarray] = (),
    ) -> list[Any]:
        """Return the sum of a statistic of features over shards, a tuple of numbers or arrays for each.

        The terms are added in shard order as they come, so that few of them are in memory at once.
        """
        ...

    def over_runs(
        self, statistic: Callable[..., list[Result]], features: object, *arguments: object
    ) -> list[Result]:
        """Apply a statistic of features to runs of consecutive shards; results of all, in shard order.

        It is called as ``statistic(objective, features, shards, *arguments)``, with the parts of each shard,
        and returns a result for each of them, which must not depend on the others. This is `over_shards` for
        statistics that take less time than a call.
        """
        ...


class Monitor(Protocol):
    """The selection measure of a run, on the validation queries or on the training queries."""

    #: Features of the documents whose scores it takes, float32 (n_monitored, n_features).
    features: np.ndarray

    def __call__(self, scores: np.ndarray) -> float:
        """The mean of the selection measure for scores of those documents; larger is better."""
        ...


#: Ends of a fit after which there is nothing to mend.
GOOD = ("converged", "complete")


@dataclass
class Solution:
    """What a solver returns.

    Attributes
    ----------
    scorer : Scorer
        The trained scorer.
    status : str
        ``converged`` only if the certificate holds; ``stopped`` (no progress was possible before), ``budget``
        (iterations ran out before) or ``complete`` (all rounds that were asked for, or a rule that ends a run
        early).
    certificate : dict of str to float
        Evidence for the status: a gradient norm, a duality gap, a bound.
    trace : list of dict
        What was reported on the way, in order: a row for an iteration, round, epoch, pass or cycle, those
        after the one that is kept included, and from some solvers one for the end of a run.
    message : str
        One sentence for a person.
    rounds : int, optional
        The number of rounds that the scorer holds, where the solver adds some round by round.
    """

    scorer: Any
    status: str
    certificate: dict[str, float]
    trace: list[TraceRow] = field(default_factory=list)
    message: str = ""
    rounds: int | None = None


@runtime_checkable
class Solver(Protocol):
    """Moves the parameters of a scorer, using only the oracles it names."""

    #: The oracles that it cannot do without.
    needs: ClassVar[frozenset[type]]
    #: The oracles that it calls besides, where they are offered.
    uses: ClassVar[frozenset[type]] = frozenset()
    #: The kind of scorer that it can train.
    trains: ClassVar[type] = DifferentiableScorer
    #: Whether it minimises convex surrogates only.
    convex_only: ClassVar[bool] = False
    #: Whether the monitor can change the solution, as it chooses among starts, rounds or iterates.
    chooses: bool = True
    #: Whether it reads features by sums over shards alone (`ObjectiveOracles.over_shards`) and by columns, so
    #: that they may be in other processes. Its parameters may decide that.
    sums_over_shards: bool = False
    #: Whether it passes over features and the objective together, block by block.
    streams: ClassVar[bool] = True

    def n_evaluations(self, n_features: int) -> int:
        """Return about how often training evaluates the surrogate on all queries."""
        return 100

    def solve(
        self,
        objective: ObjectiveOracles,
        scorer: Any,
        features: np.ndarray,
        monitor: Monitor,
        rng: np.random.Generator,
    ) -> Solution:
        """Fit. `features` are the rows that the objective's parts slice."""
        ...


@runtime_checkable
class InRounds(Protocol):
    """A solver that adds to its scorer round by round, as boosting does."""

    @property
    def chooses_rounds(self) -> bool:
        """Whether the monitor chooses how many rounds are trained, or kept."""
        ...

    def of_rounds(self, rounds: int) -> Solver:
        """Return the solver that trains so many rounds and keeps them all."""
        ...

    def of_all_rounds(self) -> Solver:
        """Return the solver that ends as this one does, and keeps all rounds that it has trained."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """A solver that makes something of the features once, for all fits on parts of the same documents."""

    def prepared(self, objective: Any, features: np.ndarray, scorer: Any) -> Solver:
        """Return the solver with what it makes of the documents from which the objective can learn."""
        ...


def check_fit(
    surrogate: Surrogate,
    solver: Solver,
    solvers: Sequence[type[Solver]] = (),
    scorer: Scorer | None = None,
    scorers: Sequence[type] = (),
) -> None:
    """Raise `UnfitPairError` if a surrogate, a solver and a scorer do not fit.

    A solver must find all oracles that it needs, call all that the surrogate requires, and be able to train
    the scorer. The message names those of `solvers` or `scorers` that would do.
    """
    problem = _misfit(surrogate, type(solver))
    if hasattr(solver, "of_rounds") and not isinstance(solver, InRounds):
        problem = f"{type(solver).__name__} has of_rounds, but not all that InRounds asks for: of_all_rounds."
    fitting = [cls.__name__ for cls in fitting_solvers(surrogate, solvers)] if problem else []
    if not problem and scorer is not None and not isinstance(scorer, solver.trains):
        kind = solver.trains.__name__
        problem = f"{type(solver).__name__} needs a scorer of type {kind}; {type(scorer).__name__} is none."
        fitting = [kind.__name__ for kind in scorers if isinstance(kind(), solver.trains)]
    if problem:
        raise UnfitPairError(problem + (f" Use {' or '.join(fitting)}." if fitting else ""))


def fitting_solvers(surrogate: Surrogate, solvers: Sequence[type[Solver]]) -> list[type[Solver]]:
    """Return those of some solvers that can minimise a surrogate."""
    return [kind for kind in solvers if not _misfit(surrogate, kind)]


def _misfit(surrogate: Surrogate, solver: type[Solver]) -> str:
    """Return why a kind of solver cannot minimise a surrogate, or nothing if it can."""

    def names(oracles: frozenset[type]) -> str:
        return ", ".join(sorted(oracle.__name__ for oracle in oracles))

    oracles = solver.needs | solver.uses
    if missing := solver.needs - surrogate.offers:
        return f"{solver.__name__} needs {names(missing)}; {surrogate.name} offers {names(surrogate.offers)}."
    if missing := surrogate.requires - oracles:
        return f"{surrogate.name} requires {names(missing)}; {solver.__name__} uses {names(oracles)}."
    if solver.convex_only and not surrogate.is_convex:
        return f"{solver.__name__} needs a convex surrogate; {surrogate.name} is not."
    return ""

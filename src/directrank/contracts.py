"""The map of the library: four nouns, what each knows, and what passes between them.

    minimise over θ     (1/|Q|) Σ_q  S_E( y_q , f_θ(X_q) )  +  penalty(θ)

=========== ============================================= ==================== ======================
noun        is                                            knows                never sees
=========== ============================================= ==================== ======================
Measure E   E(π, y) in [0, 1]                             relevance, positions scores
Surrogate S a measure made into a function of scores      relevance, scores    features, parameters
Scorer f    features → scores                             features, parameters relevance, measure
Solver      moves θ using only the oracles it names       scorer, oracles      relevance, measure
=========== ============================================= ==================== ======================

An `Objective` binds a surrogate to data; a solver meets the data only there and through its scorer. A
surrogate declares the oracles it offers and a solver those it needs; a pair that does not fit is refused
when it is put together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from directrank.errors import UnfitPairError

if TYPE_CHECKING:
    from directrank.data.queries import Queries
    from directrank.measures.positions import Positions

Result = TypeVar("Result")

#: The oracles by name. All speak of one flat vector of scores, shape (n_docs,).
ORACLES = {
    "value_and_gradient": "float and (n_docs,), the derivative with respect to scores",
    "gradient_form": "arrays from which a compiled loop computes those (kernels.plugins.query_gradient)",
    "diagonal_curvature": "(n_docs,), positive",
    "hessian_vector": "(n_docs,), the second derivative times a direction of scores",
    "reweigh": "nothing; weights that depend on the ranking are those at these scores from now on",
    "targets": "(n_docs,), the scores that a closed form fits",
    "query_values": "(n_queries,), the measure of each query",
    "query_weights": "(n_queries,), the weight of each query for boosting over queries",
    "approximation_errors": "two (n_queries,): how far the approximation is off, and a proved bound on that",
    "document_weights": "float and (n_docs,), the weight of each document for boosting over documents",
    "step_along": "the best step along a direction of scores, with its certificate: a `Step`",
    "most_violated": "one cut per query: gap and direction in scores",
    "cut_form": "arrays from which a compiled loop finds those cuts (rankings.passing.cut_of_query)",
    "violated_pairs": "a perfect and an imperfect ranking per query, each linear in scores, and the gap",
    "pair_form": "how the margins of such pairs make the bound",
}


@runtime_checkable
class Measure(Protocol):
    """A function of positions and relevance, in [0, 1], larger is better.

    `directrank.measures.families.definition.Definition` gives defaults for all but the value and the meaning.
    """

    #: The name without parameters and cutoff, such as ``nDCG``.
    bare_name: ClassVar[str]
    #: One sentence for newcomers.
    meaning: ClassVar[str]
    #: Whether more than two grades can change the value.
    graded: ClassVar[bool]

    @property
    def name(self) -> str:
        """The canonical name, in ir_measures' grammar."""
        ...

    @property
    def is_error(self) -> bool:
        """Whether reports print 1 − value, so that smaller is better."""
        ...

    @property
    def deciding_ranks(self) -> int | None:
        """How many first ranks decide whether a ranking is perfect; None for all."""
        ...

    def with_largest_grade(self, grade: float) -> "Measure":
        """Return the measure for a data set of this largest grade; most measures do not need it."""
        ...

    def leading(self, queries: "Queries") -> np.ndarray:
        """How many first documents of each query have their positions read, int64 (n_queries,).

        Documents are sorted by descending relevance; most measures read the positions of relevant
        documents only.
        """
        ...

    def undefined(self, queries: "Queries") -> np.ndarray:
        """Which queries have no value (no relevant document, say), bool (n_queries,)."""
        ...

    def constant(self, queries: "Queries") -> np.ndarray:
        """Which queries have the same value for every ranking, bool (n_queries,); training skips them."""
        ...

    def query_values(self, queries: "Queries", positions: "Positions") -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        ...


@dataclass(frozen=True)
class Step:
    """A step along a direction of scores.

    Attributes
    ----------
    size : float
        0 where no step helps; negative where the way back does.
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
class Surrogate(Protocol):
    """A measure made into a function of scores; smaller is better."""

    #: The oracles that a bound surrogate has, from `ORACLES`.
    offers: ClassVar[frozenset[str]]

    @property
    def name(self) -> str:
        """The surrogate with its measure, such as ``SmoothedPositions(nDCG@10)``."""
        ...

    def constant(self, queries: "Queries") -> np.ndarray:
        """Which queries cannot teach, bool (n_queries,); they are left out of training."""
        ...

    def bind(self, queries: "Queries", weights: np.ndarray) -> Any:
        """Bind to some queries, each with a weight ≥ 0; the result has the oracles of `offers`.

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

    def forward(self, parameters: np.ndarray, features: np.ndarray, dtype: Any) -> np.ndarray:
        """Scores at `parameters`, of type `dtype` and shape (n_docs,), for the gradient's kernels."""
        ...

    def backward(self, features: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Derivative with respect to the parameters, from that with respect to scores; float64."""
        ...

    def at(self, parameters: np.ndarray) -> "Scorer":
        """The scorer with these parameters."""
        ...


class Monitor(Protocol):
    """The selection measure of a run: on the validation part, or on training."""

    #: Features of the documents it judges, float32 (n_monitored, n_features).
    features: np.ndarray

    def __call__(self, scores: np.ndarray) -> float:
        """The mean of the selection measure for scores of those documents; larger is better."""
        ...


class Part(Protocol):
    """Some whole queries of an objective: their rows and numbers, and the oracles on their scores."""

    @property
    def rows(self) -> slice:
        """The rows of the features that the scores belong to."""
        ...

    @property
    def queries(self) -> slice:
        """The numbers of the queries."""
        ...

    @property
    def oracles(self) -> Any:
        """What the surrogate offers, on those rows."""
        ...


class BoundObjective(Protocol):
    """What a solver sees of the data (see `directrank.surrogates.objective`)."""

    offers: frozenset[str]
    n_docs: int
    n_queries: int
    #: What values and gradients of parts are multiplied by, so that the value at zero scores is 1.
    scale: float
    #: Type of the scores in training, float32 or float64.
    dtype: Any
    #: Weight of each query, float64 (n_queries,), summing to 1; 0 for queries that are left out.
    weights: np.ndarray
    #: Easier objectives on the same data, to be minimised one after the other before this one.
    stages: "Sequence[BoundObjective]"

    def single_queries(self) -> Sequence[Part]:
        """One part for each query that can teach."""
        ...

    def whole(self) -> Part:
        """All queries as one part."""
        ...

    def gradient_form(self) -> Any:
        """What `directrank.kernels.plugins.query_gradient` reads of all queries."""
        ...

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """The measure of each query, float64 (n_queries,)."""
        ...

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """The weight of each query for boosting over queries, float64 (n_queries,)."""
        ...

    def document_weights(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective, and the weight of each document for boosting over documents."""
        ...

    def step_along(self, scores: np.ndarray, direction: np.ndarray) -> Step:
        """The best step along a direction of scores, float64 (n_docs,)."""
        ...

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of these scores."""
        ...

    def map_shards(self, statistic: Callable[[Sequence[Part]], Result]) -> list[Result]:
        """Apply a statistic to the parts of each shard, possibly in parallel; results in shard order."""
        ...


@dataclass
class Solution:
    """What a solver returns.

    Attributes
    ----------
    scorer : Scorer
        The one to keep.
    status : str
        ``converged``, ``stopped`` (by the monitor) or ``budget`` (iterations ran out).
    certificate : dict of str to float
        Evidence for the status: a gradient norm, a duality gap, a bound.
    trace : list of dict
        One row an iteration.
    message : str
        One sentence for a person.
    """

    scorer: Any
    status: str
    certificate: dict[str, float]
    trace: list[dict[str, Any]] = field(default_factory=list)
    message: str = ""


@runtime_checkable
class Solver(Protocol):
    """Moves the parameters of a scorer, using only the oracles it names."""

    #: The oracles it needs, from `ORACLES`.
    needs: ClassVar[frozenset[str]]

    def solve(
        self,
        objective: BoundObjective,
        scorer: Any,
        features: np.ndarray,
        monitor: Monitor,
        rng: np.random.Generator,
    ) -> Solution:
        """Fit. `features` are the rows that the objective's parts slice."""
        ...


def check_fit(surrogate: Surrogate, solver: Solver, solvers: Sequence[type] = ()) -> None:
    """Raise `UnfitPairError`, naming the solvers that would do, if a solver needs what is not offered."""
    missing = sorted(solver.needs - surrogate.offers)
    if not missing:
        return
    fitting = [each.__name__ for each in solvers if each.needs <= surrogate.offers]
    advice = f" Use {' or '.join(fitting)}." if fitting else ""
    raise UnfitPairError(
        f"{type(solver).__name__} needs {', '.join(missing)}; "
        f"{surrogate.name} offers {', '.join(sorted(surrogate.offers))}.{advice}"
    )

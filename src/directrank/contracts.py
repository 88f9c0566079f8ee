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

An `Objective` binds a surrogate to data; a solver sees the data only through the objective and its scorer. A
surrogate declares the oracles that it offers, and a solver those that it calls (`directrank.oracles`).
`directrank.pairing.check_fit` refuses a surrogate, a solver and a scorer that do not fit when they are put
together.

Surrogates and solvers inherit from `Surrogate` and `Solver`, and with that what they leave undeclared.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from directrank.bound_objective import BoundObjective

if TYPE_CHECKING:
    from directrank.data.queries import Queries
    from directrank.measures.positions import Positions


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
    #: The rank of documents that a run does not hold: "infinite", so that they add nothing; "beyond" for a
    #: measure that needs whole numbers and adds nothing where ``above >= queries.longest``; or "last", tied.
    unretrieved: ClassVar[Literal["infinite", "beyond", "last"]] = "infinite"

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
    def query_values(self, queries: "Queries", positions: "Positions") -> np.ndarray:
        """The value of each query, float64 (n_queries,); 0 where undefined."""
        ...


@runtime_checkable
class Surrogate(Protocol):
    """A measure made into a function of scores; smaller is better."""

    #: The oracles of the bound surrogate.
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
        """Return rows of an audit of scores (`directrank.surrogates.audit_row`); none by default."""
        return []

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

    def of(self, coefficients: Sequence[float], weak_rankers: Sequence[Any]) -> "Scorer":
        """The sum of these weak rankers, each an object with ``predict(features)``."""
        ...


class Monitor(Protocol):
    """The selection measure of a run, on the validation queries or on the training queries."""

    #: Features of the documents whose scores it takes, float32 (n_monitored, n_features).
    features: np.ndarray

    def __call__(self, scores: np.ndarray) -> float:
        """The mean of the selection measure for scores of those documents; larger is better."""
        ...


@dataclass
class Solution:
    """What a solver returns.

    Attributes
    ----------
    scorer : Scorer
        The trained scorer.
    status : str
        ``converged`` only if the certificate holds; ``stopped`` (no progress was possible before), ``budget``
        (iterations ran out before) or ``complete`` (boosting trained the rounds asked for).
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
    #: Whether it reads features by sums over shards alone (`BoundObjective.over_shards`) and by columns, so
    #: that they may be in other processes. Its parameters may decide that.
    sums_over_shards: bool = False

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

"""Least squares, and losses on pairs of documents: RankSVM, RankNet and the preorder loss."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from directrank.estimators.linear_ranker import GradientRanker, LinearRanker, PenalisedRanker
from directrank.estimators.parameters import (
    ABOVE_0,
    FROM_0,
    FROM_1,
    AnyMeasure,
    Normalise,
    Penalty,
    Width,
    estimator,
    positional,
)
from directrank.estimators.starts import Start
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.solvers import ClosedForm, CuttingPlane, TruncatedNewton
from directrank.surrogates import (
    LinearLoss,
    OrderPreserving,
    Pairwise,
    PairwiseHinge,
    SquaredError,
    SwapDrop,
    gain_difference,
    label_difference,
)


@estimator
class Regression(LinearRanker):
    """Least squares on relevance, without regard to queries."""

    ridge: Annotated[
        float,
        "Penalty on the squared coefficients of standardised features; 0 is plain least squares.",
        FROM_0,
    ] = 0.0

    def components(self):
        """Return squared error in closed form."""
        return SquaredError(), ClosedForm(ridge=self.ridge), Linear()


#: Relative duality gap to which the hinge is solved.
GAP = 1e-4

Weight = Annotated[
    Callable | Literal["gain", "difference"] | AnyMeasure | None,
    "Weight of a pair by its two grades, 1 for None: the difference of gains, 2^y − 2^y'; difference, of the "
    "grades, y − y', for labels of logs; a function ≥ 0 of "
    'two arrays of grades, of the better and of the worse documents; or a measure, such as "nDCG@1": how '
    "much it drops when two documents of these grades are swapped in a perfect ranking, on average over the "
    "training queries.",
]


def _weight(weight: Any) -> Any:
    """Return the weight of pairs of grades, as the surrogate takes it."""
    if weight is None or callable(weight):
        return weight
    differences = {"gain": gain_difference, "difference": label_difference}
    return differences[weight] if weight in differences else SwapDrop(parse_measure(weight))


@estimator
class RankSVM(LinearRanker):
    """Ranking SVM: a hinge on each pair of documents of different relevance.

    The margin "hinge" is solved by cutting planes to a duality gap of 0.01 %, the others by truncated Newton.

    References
    ----------
    .. [1] T. Joachims, "Optimizing search engines using clickthrough data", KDD 2002; "Training linear SVMs
       in linear time", KDD 2006.
    .. [2] O. Chapelle, S. S. Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13,
       2010.
    .. [3] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006: `normalise` and `weight`.
    """

    margin: Annotated[
        Literal["squared_hinge", "hinge", "huber"],
        "max(0, 1 − m)² of the difference m of two scores; max(0, 1 − m); or that with a rounded corner.",
    ] = "squared_hinge"
    width: Width = 0.05
    normalise: Normalise = False
    weight: Weight = None
    penalty: Annotated[
        float,
        "λ on half the squared norm of the coefficients, relative to the objective at zero scores.",
        ABOVE_0,
    ] = 0.1
    max_iterations: Annotated[int, "Newton steps; cutting planes for the hinge.", FROM_1] = 100

    def components(self):
        """Return the loss on pairs, and cutting planes or Newton."""
        options: Any = {"normalise": self.normalise, "weight": _weight(self.weight)}
        if self.margin == "hinge":
            solver = CuttingPlane(penalty=self.penalty, tolerance=GAP, max_iterations=self.max_iterations)
            return PairwiseHinge(**options), solver, Linear()
        surrogate = Pairwise(margin=self.margin, width=self.width, **options)
        return surrogate, TruncatedNewton(penalty=self.penalty, max_iterations=self.max_iterations), Linear()


@estimator
class RankNet(PenalisedRanker):
    """Cross entropy on pairs of documents of different relevance.

    References
    ----------
    .. [1] C. Burges et al., "Learning to rank using gradient descent", ICML 2005.
    """

    normalise: Normalise = False
    penalty: Penalty = 0.03

    def _loss(self):
        return Pairwise(margin="logistic", normalise=self.normalise)


@estimator
class Preorder(PenalisedRanker):
    """A margin on each pair of documents of different relevance, weighted by their grades.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011, Eq. (14) and section 6.
    .. [2] Y. Cao et al., "Adapting ranking SVM to document retrieval", SIGIR 2006.
    """

    weight: Weight = "gain"
    normalise: Normalise = True
    margin: Annotated[Literal["huber", "squared_hinge", "logistic"], "φ of the difference of two scores."] = (
        "squared_hinge"
    )
    width: Width = 0.5
    penalty: Penalty = 0.1

    def _loss(self):
        return Pairwise(
            margin=self.margin, width=self.width, normalise=self.normalise, weight=_weight(self.weight)
        )


@estimator
class ConsistentRank(GradientRanker):
    """The order-preserving loss, consistent with a measure by its standardised supervision.

    `fit` also takes a `PreferenceGraph` (with the measure WPD) or `ObservedRankings` (with ZeroOne) instead
    of relevance.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011.
    .. [2] J. Duchi, L. Mackey, M. Jordan, "On the consistency of ranking algorithms", ICML 2010.
    """

    measure: Annotated[
        AnyMeasure,
        "DCG or nDCG, with or without a cutoff, WPD or ZeroOne. AP and ERR provably have no standard form.",
    ] = positional(default="nDCG")
    loss: Annotated[
        Literal["order-preserving", "linear"],
        "The loss of the paper; or Duchi et al.'s, linear in preferences with a penalty on scores, which is "
        "consistent with WPD under low noise, and reads neither `margin` nor `normalise`.",
    ] = "order-preserving"
    margin: Annotated[Literal["huber", "squared_hinge"], "φ of the difference of two scores."] = "huber"
    width: Width = 0.5
    normalise: Annotated[bool, "Divide the loss of each query by n(n − 1), its number of pairs."] = False
    penalty: Penalty = 0.03
    start: Start = "zero"

    def components(self):
        """Return the order-preserving loss, and a gradient method."""
        if self.loss == "linear":
            return LinearLoss(parse_measure(self.measure)), self._gradient_method(), Linear()
        surrogate = OrderPreserving(
            parse_measure(self.measure), margin=self.margin, width=self.width, normalise=self.normalise
        )
        return surrogate, self._gradient_method(), Linear()

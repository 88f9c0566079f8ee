"""Order-preserving losses with standardised supervision: consistent with nDCG, DCG, WPD, 0/1."""

from typing import Annotated, Literal

from directrank.estimators.gradient_ranker import GradientRanker
from directrank.estimators.method import PENALTIES, Method
from directrank.estimators.parameters import AnyMeasure, Penalty, Width, estimator, positional
from directrank.measures import parse_measure
from directrank.scorers import Linear
from directrank.surrogates import OrderPreserving


@estimator
class ConsistentRank(GradientRanker):
    """The order-preserving loss, consistent with a measure by its standardised supervision.

    `fit` also takes a `PreferenceGraph` (with the measure WPD) or `ObservedRankings` (with ZeroOne) instead
    of relevance.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011.
    """

    measure: Annotated[
        AnyMeasure,
        "DCG or nDCG, with or without a cutoff, WPD or ZeroOne. AP and ERR provably have no standard form.",
    ] = positional(default="nDCG")
    margin: Annotated[Literal["huber", "squared_hinge"], "φ of the difference of two scores."] = "huber"
    width: Width = 0.5
    normalise: Annotated[bool, "Divide the loss of each query by n(n − 1), its number of pairs."] = False
    penalty: Penalty = 0.03

    def components(self):
        """Return the order-preserving loss, and a gradient method."""
        surrogate = OrderPreserving(
            parse_measure(self.measure), margin=self.margin, width=self.width, normalise=self.normalise
        )
        return surrogate, self._gradient_method(), Linear()


PAPER = "Buffoni, Calauzènes, Gallinari, Usunier, ICML 2011"

METHODS = (
    Method(
        "consistent-dcg",
        ConsistentRank,
        "order-preserving loss weighted by the gain",
        PAPER,
        measure="DCG",
        fixed={"margin": "squared_hinge"},
        grid=PENALTIES,
    ),
    Method(
        "consistent-ndcg",
        ConsistentRank,
        "order-preserving loss weighted by the gain over the ideal, or for the measure given",
        PAPER,
        measure="nDCG",
        takes_measure=True,
        fixed={"margin": "squared_hinge"},
        grid=PENALTIES,
    ),
    Method(
        "consistent-norm-dcg",
        ConsistentRank,
        "order-preserving loss weighted by the gain, over the number of pairs",
        PAPER,
        measure="DCG",
        fixed={"normalise": True},
        grid=PENALTIES,
    ),
)

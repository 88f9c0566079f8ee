"""Order-preserving losses with standardised supervision: consistent with nDCG, DCG, WPD, 0/1."""

from typing import Annotated, Literal

from directrank.estimators.gradient_ranker import GradientRanker
from directrank.estimators.parameters.declared import AnyMeasure, Penalty, Width, estimator, positional
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

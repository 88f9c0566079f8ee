"""Boosting over documents with stumps: RankBoost, FRank and NDCG_Boost."""

from typing import Annotated, Literal

from directrank.estimators.boosted_ranker import BoostedRanker, Criterion, Keep, Shrinkage
from directrank.estimators.method import Method
from directrank.estimators.parameters import AnyMeasure, Normalise, estimator, positional
from directrank.measures import parse_measure
from directrank.scorers import Additive
from directrank.surrogates import ExpectedMeasure, ExponentialPairs, Fidelity


@estimator
class RankBoost(BoostedRanker):
    """Boosting of stumps, exponential loss on pairs.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. Schapire, Y. Singer, "An efficient boosting algorithm for combining
       preferences", JMLR 4, 2003.
    """

    normalise: Normalise = False
    alpha: Annotated[
        Literal["third", "second", "search"],
        "Which of the paper's three methods finds a step; its first is the numerical search.",
    ] = "third"
    criterion: Criterion = "eta"

    def components(self):
        """Return the exponential loss, and boosting over documents."""
        surrogate = ExponentialPairs(normalise=self.normalise, alpha=self.alpha)
        return surrogate, self._document_boosting(), Additive()


@estimator
class FRank(BoostedRanker):
    """Boosting of stumps, fidelity loss on pairs.

    References
    ----------
    .. [1] M.-F. Tsai, T.-Y. Liu, T. Qin, H.-H. Chen, W.-Y. Ma, "FRank: a ranking method with fidelity loss",
       SIGIR 2007.
    """

    normalise: Normalise = True
    line_search: Annotated[bool, "Search for each step numerically, or use the paper's closed form."] = True
    shrinkage: Shrinkage = 0.3

    def components(self):
        """Return the fidelity loss, and boosting over documents."""
        surrogate = Fidelity(normalise=self.normalise, line_search=self.line_search)
        return surrogate, self._document_boosting(), Additive()


@estimator
class NDCGBoost(BoostedRanker):
    """Boosting of stumps, bound on expected nDCG; 100 rounds, no validation.

    The paper also draws documents in proportion to their weights (``sampling=True``).

    References
    ----------
    .. [1] H. Valizadegan, R. Jin, R. Zhang, J. Mao, "Learning to rank by optimizing NDCG measure", NIPS 2009.
    """

    measure: Annotated[AnyMeasure, "nDCG or DCG, with any gain, discount and cutoff."] = positional(
        default="nDCG"
    )
    keep: Keep = "last"

    def components(self):
        """Return the bound on the expected measure, and boosting over documents."""
        surrogate = ExpectedMeasure(parse_measure(self.measure))
        return surrogate, self._document_boosting(), Additive()


METHODS = (
    Method("rankboost", RankBoost, paper="Freund, Iyer, Schapire, Singer, JMLR 2003"),
    Method("frank", FRank, paper="Tsai, Liu, Qin, Chen, Ma, SIGIR 2007"),
    Method(
        "ndcgboost",
        NDCGBoost,
        paper="Valizadegan, Jin, Zhang, Mao, NIPS 2009",
        measure="nDCG",
        takes_measure=True,
    ),
)

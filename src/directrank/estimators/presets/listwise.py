"""Losses on whole lists for a linear scorer: ListNet, XE-NDCG, ListMLE, RankCosine."""

from typing import Annotated

import numpy as np

from directrank.estimators.initialisation import Start, initial_coefficients
from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import Gain, Interval, MaxIterations, Penalty, estimator, positional
from directrank.scorers import Linear
from directrank.solvers import LBFGS
from directrank.surrogates import CosineDistance, GainCrossEntropy, PlackettLuce, SoftmaxCrossEntropy

# The first step of L-BFGS has length 1: it turns coefficients of this length, whose scale is free, by 6°.
START_LENGTH = 10.0


@estimator
class ListNet(LinearRanker):
    """Cross entropy of top-one probabilities, with an L2 penalty.

    References
    ----------
    .. [1] Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai, H. Li, "Learning to rank: from pairwise approach to listwise
       approach", ICML 2007.
    """

    supervision: Annotated[
        Gain, "What the true probabilities are made of: relevance y, as in the paper, or 2^y − 1."
    ] = positional(default="relevance")
    penalty: Penalty = 0.01
    max_iterations: MaxIterations = 200

    def components(self):
        """Return the cross entropy, and L-BFGS."""
        solver = LBFGS(penalty=self.penalty, max_iterations=self.max_iterations)
        return SoftmaxCrossEntropy(self.supervision), solver, Linear()


@estimator
class XENDCG(LinearRanker):
    """Cross entropy with the documents' shares in the gain (XE-NDCG), with an L2 penalty.

    References
    ----------
    .. [1] S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021.
    """

    gamma: Annotated[
        float, "γ: at 1 the shares are those of nDCG's gains; below, every document has one.", Interval(0, 1)
    ] = 0.5
    penalty: Penalty = 0.01
    max_iterations: MaxIterations = 200

    def components(self):
        """Return the cross entropy, and L-BFGS."""
        solver = LBFGS(penalty=self.penalty, max_iterations=self.max_iterations)
        return GainCrossEntropy(self.gamma), solver, Linear()


@estimator
class ListMLE(LinearRanker):
    """Likelihood of the ranking by relevance under the Plackett-Luce model, with an L2 penalty.

    `directrank.surrogates.PlackettLuce` says how it treats documents of equal relevance.

    References
    ----------
    .. [1] F. Xia, T.-Y. Liu, J. Wang, W. Zhang, H. Li, "Listwise approach to learning to rank: theory and
       algorithm", ICML 2008.
    """

    penalty: Penalty = 0.01
    max_iterations: MaxIterations = 200

    def components(self):
        """Return the likelihood, and L-BFGS."""
        return PlackettLuce(), LBFGS(penalty=self.penalty, max_iterations=self.max_iterations), Linear()


@estimator
class RankCosine(LinearRanker):
    """Cosine distance between scores and relevance.

    There is no penalty, as the scale of scores is free. The best iterate by the selection measure is the
    model.

    References
    ----------
    .. [1] T. Qin, X.-D. Zhang, M.-F. Tsai, D.-S. Wang, T.-Y. Liu, H. Li, "Query-level loss functions for
       information retrieval", Information Processing and Management 44, 2008.
    """

    supervision: Annotated[
        Gain, "The vector to which scores should be parallel: relevance y, or 2^y − 1."
    ] = positional(default="relevance")
    start: Start = "regression"
    max_iterations: MaxIterations = 100

    def components(self):
        """Return the cosine distance, and L-BFGS."""
        solver = LBFGS(penalty=0.0, max_iterations=self.max_iterations, keep="best")
        return CosineDistance(self.supervision), solver, Linear()

    def _initial_scorer(self, scorer, groups, weights, scaling):
        start = initial_coefficients(self.start, groups, weights, scaling)
        if start is not None and start.any():
            start = start * (START_LENGTH / np.linalg.norm(start))
        return Linear(start)

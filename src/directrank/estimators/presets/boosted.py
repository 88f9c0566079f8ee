"""Boosting over documents with stumps: RankBoost, FRank and NDCG_Boost."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from directrank.estimators.inputs import features_of, names_of_features
from directrank.estimators.parameters import FROM_1, AnyMeasure, Interval, Normalise, estimator, positional
from directrank.estimators.ranker import Ranker
from directrank.estimators.weak_classifiers import ClassifierWeakRankers
from directrank.measures import parse_measure
from directrank.scorers import Additive
from directrank.solvers import DocumentBoosting
from directrank.surrogates import ExpectedMeasure, ExponentialPairs, Fidelity

Criterion = Annotated[
    Literal["gini", "eta"],
    "Quantity that a stump maximises: the gain of a regression tree, or the weighted difference of the two "
    "sides (r in RankBoost's paper, η in NDCG_Boost's); see `directrank.solvers.stumps`.",
]
Shrinkage = Annotated[float, "Share of each step that is applied.", Interval(0, 1, above=True)]
Keep = Annotated[
    Literal["best", "last"], "Keep the first rounds, up to the best by the selection measure, or all rounds."
]


@estimator
class BoostedRanker(Ranker):
    """Base class of rankers that boost over documents."""

    rounds: Annotated[int, "Largest number of weak rankers.", FROM_1] = 100
    weak_ranker: Annotated[
        Literal["stump", "feature", "tree"] | ClassifierMixin,
        "Stumps, single features, decision trees, or a scikit-learn classifier. A model file holds decision "
        "trees; rankers over other classifiers cannot be saved.",
    ] = "stump"
    depth: Annotated[int, "Largest depth of a decision tree.", FROM_1] = 3
    search: Annotated[
        Literal["exact", "histogram"], "Try every threshold of a stump, or at most 255 per feature."
    ] = "exact"
    criterion: Criterion = "gini"
    sampling: Annotated[bool, "Draw documents in proportion to their weights."] = False
    shrinkage: Shrinkage = 1.0
    keep: Keep = "best"
    patience: Annotated[
        int | None, "Stop after this many rounds without a better value of the selection measure.", FROM_1
    ] = None

    def staged_predict(self, X) -> Iterator[np.ndarray]:
        """Yield the scores of documents after each round of the model, in the order of the rows given.

        Parameters
        ----------
        X : QueryGroups, or array or data frame of shape (n_docs, n_features)
            In this process, not on a cluster.
        """
        features, in_caller_order = features_of(self, X)
        if features.workers is not None:
            raise TypeError("staged_predict is for data in this process, not on a cluster: use predict")
        yield from map(in_caller_order, self.scorer_.staged_scores(features.rows))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in Σ |coefficient|, float64 (n_features,)."""
        check_is_fitted(self)
        return self.scorer_.feature_importances(len(names_of_features(self)))

    def _document_boosting(self) -> DocumentBoosting:
        """Return the solver that the parameters describe."""
        weak: Any = self.weak_ranker
        if isinstance(weak, str) and weak == "tree":
            weak = DecisionTreeClassifier(max_depth=self.depth)
        return DocumentBoosting(
            rounds=self.rounds, search=self.search, criterion=self.criterion, sampling=self.sampling,
            shrinkage=self.shrinkage, keep=self.keep, patience=self.patience,
            weak_ranker=weak if isinstance(weak, str) else ClassifierWeakRankers(weak, self.sampling),
        )  # fmt: skip


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

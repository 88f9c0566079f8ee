"""Boosting over documents with stumps: RankBoost, FRank and NDCG_Boost."""

import inspect
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np

from directrank.contracts import Surrogate
from directrank.errors import DataError
from directrank.estimators.documents import documents_of, features_of
from directrank.estimators.parameters import (
    FROM_1,
    AnyMeasure,
    Interval,
    Keep,
    Normalise,
    estimator,
    positional,
)
from directrank.estimators.ranker import Ranker
from directrank.estimators.sklearn_interface import Classifier, unfitted
from directrank.features.statistics import missing_counts
from directrank.measures import parse_measure
from directrank.scorers import Additive, Trees, tree_of
from directrank.solvers import DocumentBoosting
from directrank.surrogates import ExpectedMeasure, ExponentialPairs, Fidelity


class ClassifierWeakRankers:
    """Fits a scikit-learn classifier to the signs of weights; what `DocumentBoosting` asks of an object.

    If `sampled`, weights are numbers of copies. Raises TypeError if it is no classifier, or takes no
    ``sample_weight`` where there is no sampling.
    """

    def __init__(self, classifier: Any, sampled: bool):
        if not (hasattr(classifier, "__sklearn_tags__") and hasattr(classifier, "predict")):
            raise TypeError(
                "weak_ranker must be 'stump', 'feature', 'tree' or a scikit-learn classifier, not "
                f"{classifier!r}"
            )
        if not sampled and "sample_weight" not in inspect.signature(classifier.fit).parameters:
            raise TypeError(f"{type(classifier).__name__} takes no sample_weight; use it with sampling=True")
        self.classifier, self.sampled = classifier, sampled

    def fit(self, features: np.ndarray, weights: np.ndarray, seed: int) -> Any:
        """Return the weak ranker, a tree of `Trees` if the classifier is one."""
        _refuse_missing(self.classifier, features)
        rows = np.flatnonzero(weights)
        classes = (weights[rows] > 0).astype(np.int64)
        if classes.min() == classes.max():
            return None
        classifier: Any = unfitted(self.classifier)
        if "random_state" in classifier.get_params():
            classifier.set_params(random_state=seed)
        size = np.abs(weights[rows]).astype(np.float64)
        if self.sampled:
            copies = np.repeat(np.arange(len(rows)), size.astype(np.int64))
            classifier.fit(features[rows[copies]], classes[copies])
        else:
            classifier.fit(features[rows], classes, sample_weight=size / size.mean())
        return tree_of_classifier(classifier) if hasattr(classifier, "tree_") else Classified(classifier)


class Classified:
    """A fitted classifier as a weak ranker with values in {0, 1}."""

    def __init__(self, classifier: Any):
        self.classifier = classifier

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the class of each document, float64 (n_docs,)."""
        _refuse_missing(self.classifier, features)
        return np.asarray(self.classifier.predict(features), np.float64)


def _refuse_missing(classifier: Any, features: np.ndarray) -> None:
    """Raise `DataError` if values are missing, and the classifier does not take them."""
    if not classifier.__sklearn_tags__().input_tags.allow_nan and missing_counts(features).any():
        raise DataError(
            f"values of features are missing, and {type(classifier).__name__} as weak_ranker takes none: "
            "fill them first, or use stumps or a DecisionTreeClassifier"
        )


def tree_of_classifier(classifier: Any) -> Trees:
    """Return the nodes of a fitted decision tree over the classes 0 and 1.

    Its thresholds are float64 and send x ≤ t to the left. Features are float32, so the next float32 at or
    below t sends the same rows there; the threshold ∞ divides values from missing ones.
    """
    nodes = classifier.tree_
    threshold = np.minimum(nodes.threshold, np.finfo(np.float32).max).astype(np.float32)
    above = threshold > nodes.threshold
    threshold[above] = np.nextafter(threshold[above], np.float32(-np.inf))
    leaf = nodes.children_left < 0
    vote = nodes.value[:, 0, :].argmax(axis=1)
    return tree_of(
        np.where(leaf, 0, nodes.feature), np.where(leaf, 0.0, threshold),
        nodes.children_left, nodes.children_right, np.where(leaf, vote, 0),
        to_left=leaf | (nodes.missing_go_to_left != 0),
    )  # fmt: skip


Criterion = Annotated[
    Literal["gini", "eta"],
    "Quantity that a stump maximises: the gain of a regression tree, or the weighted difference of the two "
    "sides (r in RankBoost's paper, η in NDCG_Boost's); see `directrank.solvers.stumps`.",
]
Shrinkage = Annotated[float, "Share of each step that is applied.", Interval(0, 1, above=True)]


@estimator
class BoostedRanker(Ranker):
    """Base class of rankers that boost over documents."""

    rounds: Annotated[int, "Largest number of weak rankers.", FROM_1] = 100
    weak_ranker: Annotated[
        Literal["stump", "feature", "tree"] | Classifier,
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
        features, in_caller_order = features_of(self, *documents_of(self, X, None))
        if features.workers is not None:
            raise TypeError("staged_predict is for data in this process, not on a cluster: use predict")
        yield from map(in_caller_order, self.scorer_.staged_scores(features.rows))

    def components(self):
        """Return the loss, and boosting over documents."""
        weak: Any = self.weak_ranker
        if isinstance(weak, str) and weak == "tree":
            from sklearn.tree import DecisionTreeClassifier  # slow to import

            weak = DecisionTreeClassifier(max_depth=self.depth)
        solver = DocumentBoosting(
            rounds=self.rounds, search=self.search, criterion=self.criterion, sampling=self.sampling,
            shrinkage=self.shrinkage, keep=self.keep, patience=self.patience,
            weak_ranker=weak if isinstance(weak, str) else ClassifierWeakRankers(weak, self.sampling),
        )  # fmt: skip
        return self._loss(), solver, Additive()

    def idle_parameters(self):
        """See `Ranker`: only trees have a depth."""
        return () if isinstance(self.weak_ranker, str) and self.weak_ranker == "tree" else ("depth",)

    def _loss(self) -> Surrogate:
        raise NotImplementedError


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

    def _loss(self):
        return ExponentialPairs(normalise=self.normalise, alpha=self.alpha)


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

    def _loss(self):
        return Fidelity(normalise=self.normalise, line_search=self.line_search)


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

    def _loss(self):
        return ExpectedMeasure(parse_measure(self.measure))

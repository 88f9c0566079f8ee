"""scikit-learn's classifiers as weak rankers."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from directrank.errors import DataError
from directrank.features.medians import missing_counts
from directrank.scorers import Tree, tree_of


class ClassifierWeakRankers:
    """Fits a scikit-learn classifier to the signs of weights; what `DocumentBoosting` asks of an object.

    If `sampled`, weights are numbers of copies. Raises TypeError if it is no classifier, or takes no
    ``sample_weight`` where there is no sampling.
    """

    def __init__(self, classifier: Any, sampled: bool):
        if not (isinstance(classifier, BaseEstimator) and hasattr(classifier, "predict")):
            raise TypeError(
                "weak_ranker must be 'stump', 'feature', 'tree' or a scikit-learn classifier, not "
                f"{classifier!r}"
            )
        if not sampled and not has_fit_parameter(classifier, "sample_weight"):
            raise TypeError(f"{type(classifier).__name__} takes no sample_weight; use it with sampling=True")
        self.classifier, self.sampled = classifier, sampled

    def fit(self, features: np.ndarray, weights: np.ndarray, seed: int) -> Any:
        """Return the weak ranker, a `Tree` if the classifier is one."""
        _refuse_missing(self.classifier, features)
        rows = np.flatnonzero(weights)
        classes = (weights[rows] > 0).astype(np.int64)
        if classes.min() == classes.max():
            return None
        classifier: Any = clone(self.classifier)
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

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the class of each document, float64 (n_docs,)."""
        _refuse_missing(self.classifier, features)
        return np.asarray(self.classifier.predict(features), np.float64)


def _refuse_missing(classifier: Any, features: np.ndarray) -> None:
    """Raise `DataError` if values are missing, and the classifier does not take them."""
    if not get_tags(classifier).input_tags.allow_nan and missing_counts(features).any():
        raise DataError(
            f"values of features are missing, and {type(classifier).__name__} as weak_ranker takes none: "
            "fill them first, or use stumps or a DecisionTreeClassifier"
        )


def tree_of_classifier(classifier: Any) -> Tree:
    """Return the nodes of a fitted decision tree over the classes 0 and 1.

    Its thresholds are float64 and send x ≤ t to the left. Features are float32, so the next float32 at or
    below t sends the same rows there; the threshold ∞ divides values from missing ones.
    """
    nodes = classifier.tree_
    threshold = np.minimum(nodes.threshold, np.finfo(np.float32).max).astype(np.float32)
    above = threshold > nodes.threshold
    threshold[above] = np.nextafter(threshold[above], np.float32(-np.inf))
    leaf = nodes.children_left < 0
    fill = np.where(nodes.missing_go_to_left, -np.inf, np.inf)
    vote = nodes.value[:, 0, :].argmax(axis=1)
    return tree_of(
        np.where(leaf, 0, nodes.feature), np.where(leaf, 0.0, threshold),
        nodes.children_left, nodes.children_right, np.where(leaf, vote, 0),
        fill=np.where(leaf, 0.0, fill),
    )  # fmt: skip

"""Feature selection: drop the features that the measure misses least, while its loss is not significant."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from directrank.data.groups import QueryGroups
from directrank.experiments.shuffling import importance
from directrank.experiments.significance import ALPHA, contrasts
from directrank.features import ArrayFeatures
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.measures.evaluation import values_of

if TYPE_CHECKING:
    from directrank.contracts import Measure


@dataclass(frozen=True)
class FeatureSet:
    """A model of some features, compared with that of all on the validation queries.

    Attributes
    ----------
    features : tuple of str
        The names of its features.
    value : float
        The mean of the measure, in [0, 1], larger is better.
    loss, low, high : float
        How far it is below that of all features, with its 95 % interval (percentile bootstrap over queries).
    p : float
        Two-sided p-value of Fisher's randomisation test.
    """

    features: tuple[str, ...]
    value: float
    loss: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether the loss is significant."""
        return self.loss > 0 and self.p < ALPHA


def select_features(
    ranker: Any,
    train: QueryGroups,
    valid: QueryGroups,
    measure: "str | Measure" = DEFAULT_MEASURE,
    *,
    share: float = 0.2,
    repeats: int = 5,
    random_state: int = 0,
    observe: Callable[[FeatureSet], None] = lambda trained: None,
) -> list[FeatureSet]:
    """Drop features and train again, as long as the measure's loss on validation queries is not significant.

    Each step drops the share of the features whose shuffling costs the measure least on the training queries
    (`importance`), trains again without them, and compares the values of the validation queries with those of
    the model of all features.

    Parameters
    ----------
    ranker : Ranker
        It is cloned.
    train, valid : QueryGroups
        Of the same features, with relevance.
    measure : str or Measure, default="nDCG@10"
        The measure, in the standard convention.
    share : float, default=0.2
        The share of the features that a step drops, at least one; above 0 and below 1.
    repeats, random_state : int
        As in `importance`.
    observe : callable, optional
        It is called with each set as soon as its model is trained.

    Returns
    -------
    list of FeatureSet
        The path, from all features on. Only the loss of its last one may be significant.

    Raises
    ------
    ValueError
        If the share is not between 0 and 1.
    DataError
        If a ranker cannot be trained, or the measure is the same for every ranking.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, not {share}")
    chosen = parse_measure(measure).with_largest_grade(float(train.queries.relevance.max()))
    names = np.array(train.feature_names or [f"f{number + 1}" for number in range(train.n_features)], object)
    path: list[FeatureSet] = []
    left, full = np.arange(train.n_features), np.zeros(0)
    while True:
        some, judged = (_columns(groups, left, names) for groups in (train, valid))
        model: Any = clone(ranker)
        model.fit(some, eval_set=judged)
        values = values_of([chosen], judged.queries, judged.to_inner(model.predict(judged)))[0]
        full = full if path else values
        test = {name: column.item() for name, column in contrasts((full - values)[:, None]).items()}
        path.append(
            FeatureSet(
                some.feature_names or (), float(values.mean()), test["difference"], test["low"],
                test["high"], test["p_randomisation"],
            )
        )  # fmt: skip
        observe(path[-1])
        if path[-1].significant or len(left) == 1:
            return path
        missed = importance(model, some, chosen, repeats=repeats, random_state=random_state).losses
        least = np.argsort(missed.mean(axis=0), kind="stable")[: max(1, int(share * len(left)))]
        left = np.delete(left, least)


def _columns(groups: QueryGroups, columns: np.ndarray, names: np.ndarray) -> QueryGroups:
    """Return the queries with some of their features."""
    rows = np.ascontiguousarray(groups.features[:, columns])
    return groups.with_features(ArrayFeatures(rows, groups.queries.indptr), names[columns].tolist())

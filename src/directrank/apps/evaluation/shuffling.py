"""Features by the measure: what it loses when one is shuffled inside queries, and which can be dropped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.apps.evaluation.significance import ALPHA, Randomisation, contrasts, holm, row_alphas
from directrank.data import QueryGroups, as_groups
from directrank.data.tabular import Bars, Tabular
from directrank.errors import DataError
from directrank.estimators.documents import names_of_columns
from directrank.estimators.sklearn_interface import unfitted
from directrank.features import ArrayFeatures
from directrank.measures import DEFAULT_MEASURE, parse_measure, values_of
from directrank.storage.strict_json import JSONObject

if TYPE_CHECKING:
    from directrank.contracts import Measure


@dataclass(frozen=True)
class Importance(Tabular):
    """What a measure loses on each query when a feature is shuffled.

    Attributes
    ----------
    measure : str
        The name of the measure.
    value : float
        Its mean over queries with the features as they are, in [0, 1], larger is better.
    features : tuple of str
        The names of the features.
    losses : ndarray of shape (n_queries, n_features)
        Value of a query less its mean value over the repeats; negative where shuffling helps.

    Examples
    --------
    >>> from directrank import RankSVM, importance, make_ranking
    >>> groups = make_ranking(n_queries=20, n_features=3, random_state=0)
    >>> found = importance(RankSVM().fit(groups), groups)
    >>> found.losses.shape
    (20, 3)
    """

    measure: str
    value: float
    features: tuple[str, ...]
    losses: np.ndarray

    def rows(self) -> list[JSONObject]:
        """Return what each feature's mean loss is, the largest one first.

        Each row has the name of the `feature`; its mean `loss` over queries, with the ends `low` and `high`
        of its interval, at the level of its step in Holm's correction; the numbers of queries that are
        `worse`, `equal` and `better` when it is shuffled; and the two-sided p-value `p` of Fisher's
        randomisation test, with `p_holm`, adjusted for all features.
        """
        test = Randomisation(self.losses)
        tests = contrasts(self.losses, test=test, alpha=row_alphas(test.p, "holm"))
        p = tests["p_randomisation"]
        columns = {
            "feature": np.array(self.features, object), "loss": tests["difference"], "low": tests["low"],
            "high": tests["high"], "worse": tests["wins"], "equal": tests["ties"], "better": tests["losses"],
            "p": p, "p_holm": holm(p),
        }  # fmt: skip
        order = np.argsort(-columns["loss"], kind="stable")
        return [
            dict(zip(columns, values, strict=True))
            for values in zip(*(column[order].tolist() for column in columns.values()), strict=True)
        ]

    def _table(self) -> dict[str, Any]:
        rows = self.rows()
        return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}

    def _title(self) -> str:
        return f"{self.measure} {self.value:.4f}: what it loses when a feature is shuffled"

    def _bars(self) -> Bars:
        rows: Any = self.rows()
        ends = [(row["low"], row["high"]) for row in rows]
        return Bars(f"loss of {self.measure}", self._table()["feature"], [row["loss"] for row in rows], ends)


def importance(
    ranker: Any,
    groups: QueryGroups,
    measure: "str | Measure" = DEFAULT_MEASURE,
    *,
    repeats: int = 5,
    random_state: int = 0,
) -> Importance:
    """Return what a measure loses when the values of a feature are shuffled inside queries.

    A shuffled feature keeps its distribution inside each query, and no longer tells its documents apart. A
    feature whose information others repeat loses little, although a model without these would need it.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    groups : QueryGroups
        With relevance; those of a test or validation set, because on training data features that only fit
        noise seem important.
    measure : str or Measure, default="nDCG@10"
        The measure, in the standard convention.
    repeats : int, default=5
        Number of shuffles, over which values are averaged; in each all features have the same permutation.
    random_state : int, default=0
        Seed of the shuffles.

    Returns
    -------
    Importance

    Raises
    ------
    ValueError
        If there is not at least one repeat.
    DataError
        If the ranker cannot score the documents, or the measure is the same for every ranking.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be 1 or more, not {repeats}")
    groups = as_groups(groups, "importance")
    queries, features, rng = groups.queries, groups.features, np.random.default_rng(random_state)
    chosen = parse_measure(measure).with_largest_grade(float(queries.relevance.max()))
    if chosen.uninformative(queries).all():
        raise DataError(f"{chosen.name} is the same for every ranking of each query: nothing to lose")
    query = queries.query
    orders = [np.lexsort((rng.random(queries.n_docs), query)) for _ in range(repeats)]

    def values(rows: np.ndarray) -> np.ndarray:
        scores = ranker.predict(groups.with_features(ArrayFeatures(rows, queries.indptr)))
        return values_of([chosen], queries, groups.to_inner(scores))[0]

    before, shuffled = values(features), np.array(features)
    losses = np.zeros((queries.n_queries, groups.n_features))
    for k in range(groups.n_features):
        for order in orders:
            shuffled[:, k] = features[order, k]
            losses[:, k] += before - values(shuffled)
        shuffled[:, k] = features[:, k]
    return Importance(chosen.name, float(before.mean()), names_of_columns(ranker), losses / repeats)


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
        How far it is below that of all features, with its 95 % interval.
    p : float
        Two-sided p-value of Fisher's randomisation test.
    ranker : Ranker
        The model.

    Examples
    --------
    >>> from directrank import RankSVM, make_ranking, select_features
    >>> train, valid = make_ranking(60, 8, 4, random_state=1), make_ranking(30, 8, 4, random_state=2)
    >>> [each.features for each in select_features(RankSVM(), train, valid)]
    [('f1', 'f2', 'f3', 'f4'), ('f1', 'f2', 'f4')]
    """

    features: tuple[str, ...]
    value: float
    loss: float
    low: float
    high: float
    p: float
    ranker: Any = field(default=None, repr=False, compare=False)

    @property
    def significant(self) -> bool:
        """Whether the loss is significant."""
        return self.loss > 0 and self.p < ALPHA


def select_features(
    ranker: object,
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
    train, valid = (as_groups(groups, "select_features") for groups in (train, valid))
    chosen = parse_measure(measure).with_largest_grade(float(train.queries.relevance.max()))
    names = np.array(train.feature_names or [f"f{number + 1}" for number in range(train.n_features)], object)
    path: list[FeatureSet] = []
    remaining, full = np.arange(train.n_features), np.zeros(0)
    while True:
        some, judged = (_columns(groups, remaining, names) for groups in (train, valid))
        model: Any = unfitted(ranker)
        model.fit(some, eval_set=judged, refit=False)
        values = values_of([chosen], judged.queries, judged.to_inner(model.predict(judged)))[0]
        full = full if path else values
        test = {name: column.item() for name, column in contrasts((full - values)[:, None]).items()}
        path.append(
            FeatureSet(
                some.feature_names or (), float(values.mean()), test["difference"], test["low"],
                test["high"], test["p_randomisation"], model,
            )
        )  # fmt: skip
        observe(path[-1])
        if path[-1].significant or len(remaining) == 1:
            return path
        missed = importance(model, some, chosen, repeats=repeats, random_state=random_state).losses
        least = np.argsort(missed.mean(axis=0), kind="stable")[: max(1, int(share * len(remaining)))]
        remaining = np.delete(remaining, least)


def _columns(groups: QueryGroups, columns: np.ndarray, names: np.ndarray) -> QueryGroups:
    """Return the queries with some of their features."""
    rows = np.ascontiguousarray(groups.features[:, columns])
    return groups.with_features(ArrayFeatures(rows, groups.queries.indptr), names[columns].tolist())

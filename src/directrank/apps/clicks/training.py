"""Rows of a comparison by clicks: what learns from a part of a log, and in which way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.clicks.counterfactual import Earnings, click_measure, label_clicks, places_of
from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.propensities import Propensities
from directrank.apps.clicks.safety import safe_ranker
from directrank.apps.experiments import ScoredRow
from directrank.contracts import Measure
from directrank.data import QueryGroups, RealLabels
from directrank.estimators import Ranker, RankSVM
from directrank.estimators.methods import Configured, configured
from directrank.files import document_names
from directrank.models import take_apart
from directrank.storage.strict_json import as_plain

#: The order that the log shows; and ways to learn, of which each makes a row of a method.
SHOWN = "the order shown"
NAIVE, POSITION, SAFE = "clicks as labels", "position as a feature", "safe"
#: Ways to treat documents that were never shown in another way, by how clicks become labels.
UNSEEN_WAYS = {"dr": "shown documents alone", "shown": "never shown as 0"}
#: How clicks become labels in each way that has labels.
LABELS = {NAIVE: "naive", UNSEEN_WAYS["dr"]: "shown", UNSEEN_WAYS["shown"]: "policy"}
#: Grades of LightGBM that stand for click rates, and the rounds of its and XGBoost's trees.
LEVELS, ROUNDS = 31, 200


def click_methods(method: Any, measure: str | Measure = "DCG@10") -> list[Configured]:
    """Return the methods of a name or an object, which train for the measure unless the name fixes one.

    Parameters
    ----------
    method : str, Method, Ranker or Surrogate
    measure : str or Measure, default="DCG@10"
        DCG (gains are linear), P or RBP.
    """
    by = click_measure(measure)
    chosen = [
        configured(f"{variant.method.name}({by.name})", by)[0]
        if variant.method.takes_measure and isinstance(method, str) and "(" not in method
        else variant
        for variant in configured([method], by)
    ]
    # Pairs weigh as the labels of clicks differ.
    return [
        replace(one, method=replace(one.method, fixed={"weight": "difference", **one.method.fixed}))
        if isinstance(one.build(), RankSVM)
        else one
        for one in chosen
    ]


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """What a row is trained on: documents, a part of a log, its propensities, and the measure.

    `how` and `clip` make labels of clicks, as in `label_clicks`.
    """

    groups: QueryGroups
    log: ClickLog
    propensities: Propensities
    measure: Measure
    how: str
    clip: float = 0.0

    def labelled(self, how: str) -> tuple[QueryGroups, np.ndarray]:
        """Return the documents with labels, and the weights of queries; made once."""
        if how not in self._labels:
            propensities = None if how == "naive" else self.propensities
            self._labels[how] = label_clicks(self.groups, self.log, propensities, how=how, clip=self.clip)
        return self._labels[how]

    @cached_property
    def _labels(self) -> dict[str, tuple[QueryGroups, np.ndarray]]:
        return {}


#: From a part of a log, and a seed, to scores of all documents.
Rule = Callable[[TrainingPart, int], np.ndarray]


class LogFold(NamedTuple):
    """A fold of a log: what trains, and the rows of documents that are tested.

    `train` trains the points of grids, of which `vali` chooses by the rows `vali_rows`; `together` trains
    what is tested. Where nothing is chosen, both are one, and there is no validation part.
    """

    train: TrainingPart
    together: TrainingPart
    vali: Earnings | None
    vali_rows: np.ndarray
    test_rows: np.ndarray


@dataclass(frozen=True, eq=False)
class LogFolds:
    """The folds of a log by name; its clicks measure rankings, and those of `tested` test them."""

    groups: QueryGroups
    folds: dict[str, LogFold]
    tested: Earnings

    def ranking(self, rows: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return names of queries and documents of some rows, with their scores."""
        return self.groups.qid.astype(str)[rows], document_names(self.groups)[rows], scores

    def values(self, fold: str, part: str, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the queries that scores rank, what each earns an answer, and the mean over answers."""
        of_fold = self.folds[fold]
        earnings = of_fold.vali if part == "vali" and of_fold.vali is not None else self.tested
        ranking = self.ranking(of_fold.vali_rows if part == "vali" else of_fold.test_rows, scores)
        ranked = np.isin(earnings.log.qid, ranking[0])
        values, pages = earnings.by_query("", ranking)[ranked], earnings.log.pages()[ranked]
        return earnings.log.qid[ranked], values, float(values @ pages / pages.sum())

    def rows(self, methods: Sequence[Any], safe: Ranker | None, unseen: str | None) -> list[ScoredRow]:
        """Return methods in each way that they learn, and rules of other libraries by their names."""
        ours = [method for method in methods if not isinstance(method, str)]
        with_labels = ours or click_methods("regression", next(iter(self.folds.values())).train.measure)
        ways = {"": ours, NAIVE: with_labels, unseen: ours, SAFE: ours, POSITION: with_labels[:1]}
        rules = [name for name in UNBIASED if name in methods]
        logging = "" if safe is None else repr(as_plain(take_apart(safe.scorer_)))
        return [
            ScoredRow(
                ", ".join(filter(None, (method.label, way))), partial(self._learn, way, safe), method,
                logging * (way == SAFE),
            )
            for way, methods_of_way in ways.items()
            if way is not None and (way != SAFE or safe is not None)
            for method in methods_of_way
        ] + [ScoredRow(name, partial(self._ruled, UNBIASED[name])) for name in rules]  # fmt: skip

    def _learn(
        self, way: str, safe: Ranker | None, fold: str, ranker: Ranker, seed: int, last: bool
    ) -> tuple[np.ndarray | None, np.ndarray]:
        part = self._part(fold, last)
        if way == POSITION:
            scores = _by_position(ranker, part)
        elif way == SAFE:
            scores = safe_ranker(
                ranker, safe, part.groups, part.log, part.propensities, measure=part.measure, how=part.how,
                clip=part.clip, seed=seed,
            ).ranker.predict(part.groups)  # fmt: skip
        else:
            labelled, pages = part.labelled(LABELS.get(way, part.how))
            scores = ranker.fit(labelled, sample_weight=pages).predict(part.groups)
        return self._sets(fold, last, scores)

    def _ruled(
        self, rule: Rule, fold: str, ranker: None, seed: int, last: bool
    ) -> tuple[np.ndarray | None, np.ndarray]:
        return self._sets(fold, last, rule(self._part(fold, last), seed))

    def _part(self, fold: str, last: bool) -> TrainingPart:
        return self.folds[fold].together if last else self.folds[fold].train

    def _sets(self, fold: str, last: bool, scores: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Return scores of all documents as those of the validation set, if it chooses, and the test set."""
        of_fold = self.folds[fold]
        chooses = of_fold.vali is not None and not last
        return scores[of_fold.vali_rows] if chooses else None, scores[of_fold.test_rows]


@dataclass(frozen=True, eq=False)
class _Impressions:
    """A row for each document at each rank of each ranker of a log, by pages of a query and a ranker."""

    row: np.ndarray
    rank: np.ndarray
    rate: np.ndarray
    page: np.ndarray
    answers: np.ndarray  # of each page

    @classmethod
    def of(cls, part: TrainingPart) -> "_Impressions":
        log, groups = part.log, part.groups
        item = places_of(log, groups.qid, document_names(groups))
        row = np.full(log.n_items, -1)
        row[item[item >= 0]] = np.flatnonzero(item >= 0)
        key = (log.item * len(log.rankers) + log.ranker) * (log.n_ranks + 1) + log.rank
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        n, c = np.bincount(place, log.impressions), np.bincount(place, log.clicks)
        # Pages are in the order that was shown, which XGBoost reads.
        item, ranker, rank = log.item[first], log.ranker[first], log.rank[first]
        order = np.lexsort((item, rank, ranker, log.query[item]))
        item, ranker, rank, n, c = item[order], ranker[order], rank[order], n[order], c[order]
        query = log.query[item]
        some = row[item] >= 0
        page = np.unique((query * len(log.rankers) + ranker)[some], return_inverse=True)[1]
        answers = np.zeros(page.max(initial=-1) + 1)
        np.maximum.at(answers, page, n[some])
        return cls(row[item[some]], rank[some], np.minimum(c / n, 1.0)[some], page, answers)


def _by_position(ranker: Ranker, part: TrainingPart) -> np.ndarray:
    """Return scores by click rates of impressions with 1/rank as a feature, which is 1 when serving."""
    groups, rows = part.groups, _Impressions.of(part)
    names = None if groups.feature_names is None else [*groups.feature_names, POSITION]
    facts: Any = {"feature_names": names, "categories": groups.categories}
    X = np.column_stack((groups.X[rows.row], 1.0 / rows.rank))
    seen = QueryGroups(X, RealLabels(rows.rate), rows.page, **facts)
    ranker.fit(seen, sample_weight=rows.answers)
    top = np.column_stack((groups.X, np.ones(groups.n_docs)))
    return ranker.predict(QueryGroups(top, None, groups.qid, **facts))


def _lightgbm(part: TrainingPart, seed: int) -> np.ndarray:
    """Return the scores of LightGBM's lambdarank with an additive bias of each position."""
    import lightgbm

    rows, X = _Impressions.of(part), part.groups.X
    top = max(rows.rate.max(initial=0.0), 1e-300)
    data = lightgbm.Dataset(
        X[rows.row], np.round(rows.rate / top * (LEVELS - 1)), position=rows.rank - 1,
        group=np.bincount(rows.page), weight=rows.answers[rows.page] / rows.answers.mean(),
    )  # fmt: skip
    settings = {
        "objective": "lambdarank", "label_gain": list(range(LEVELS)), "learning_rate": 0.05, "verbosity": -1,
        "seed": seed, "deterministic": True, "num_threads": 1,
    }  # fmt: skip
    return np.asarray(lightgbm.train(settings, data, ROUNDS).predict(X))


def _xgboost(part: TrainingPart, seed: int) -> np.ndarray:
    """Return the scores of XGBoost's unbiased lambdarank, whose rows are in the order that was shown."""
    import xgboost

    rows, X = _Impressions.of(part), part.groups.X
    ranker = xgboost.XGBRanker(
        objective="rank:ndcg", lambdarank_unbiased=True, ndcg_exp_gain=False, learning_rate=0.05,
        n_estimators=ROUNDS, random_state=seed, n_jobs=1,
    )  # fmt: skip
    ranker.fit(X[rows.row], rows.rate, qid=rows.page, sample_weight=rows.answers / rows.answers.mean())
    return ranker.predict(X)


#: Methods of other libraries that read positions: LightGBM's position bias, XGBoost's unbiased lambdarank.
UNBIASED: dict[str, Rule] = {
    "lightgbm:position": _lightgbm,
    "xgboost:unbiased": _xgboost,
}

r"""What clicks and propensities say about documents and about rankings that were never shown.

**Theorem.** A measure has an unbiased estimate by reweighting single clicks iff it is affine in the labels
for every ranking. Such an estimate is a sum over documents of a weight times a click, whose expectation is
affine in the probabilities r of a click on what is examined; so the measure is. If it is, Σ l(π_d) c_d / p_d
is one.
DCG with linear gains, P and RBP are; AP, nDCG, ERR, RR and gains 2^r − 1 are not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.stats import t

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.measures import ClickDCG, ClickP, ClickRBP
from directrank.apps.clicks.pages import Pages
from directrank.apps.clicks.propensities import Propensities, has_clusters
from directrank.contracts import Measure
from directrank.data import QueryGroups, RealLabels
from directrank.errors import DataError, MeasureNameError, check_choice
from directrank.files import document_names, read_scored
from directrank.measures import DCG, RBP, WTA, P, best_values, parse_measure
from directrank.storage.strict_json import JSONObject

#: How clicks become labels: divided by the examination of the document in all of the log, with a prediction
#: where there is little to divide; without one; click by click; without documents that were never shown; or
#: as they are.
HOW = ("dr", "policy", "ips", "shown", "naive")
EVALUATED = ("dr", "policy", "ips")
#: Parts of the queries, of which each is predicted from the others.
CROSS_FITTED = 5
#: scikit-learn's trees read features with so many values at most. Where rows have weights, they look for
#: these for minutes.
MOST_VALUES = 255
#: Below so many effective clicks, or with a click or an unseen part above this share, a line says so.
FEW, LARGE, UNSEEN = 100.0, 0.1, 0.05
#: Weights of rankings that differ by less are equal.
EQUAL = 1e-9


def click_measure(measure: str | Measure) -> ClickDCG | ClickP | ClickRBP:
    """Return the measure of real labels that stands for a measure in logs.

    Raises
    ------
    MeasureNameError
        If the measure is not affine in labels: no reweighting of clicks estimates it without bias.

    Examples
    --------
    >>> from directrank.apps.clicks import click_measure
    >>> click_measure("DCG@10"), click_measure("P@5")
    (ClickDCG@10, ClickP@5)
    """
    parsed = parse_measure(measure)
    if isinstance(parsed, (ClickDCG, ClickP, ClickRBP)):
        return parsed
    if type(parsed) is DCG and parsed.discount == "log2":
        return ClickDCG(parsed.cutoff)
    if type(parsed) is WTA:
        return ClickP(1)
    if type(parsed) is P:
        return ClickP(parsed.cutoff)
    if type(parsed) is RBP:
        return ClickRBP(parsed.cutoff, p=parsed.p)
    raise MeasureNameError(
        f"{parsed.name} cannot be estimated from clicks: a measure has an unbiased estimate by reweighting "
        "single clicks only if it is affine in the labels, as DCG@10, P@5 and RBP are (docs: From click logs)"
    )


@dataclass(frozen=True, eq=False)
class Credits:
    """What a click adds to the label of its item, and how labels follow propensities.

    Attributes
    ----------
    label : ndarray of shape (n_items,)
    click : ndarray of shape (n_cells,)
        What each click of a cell adds to the label of its item.
    slope : ndarray of shape (n_cells,)
        The derivative of the label with respect to the log p of the cell's rank.
    clipped : float
        The share of clicks whose propensity was raised to the limit.
    """

    label: np.ndarray
    click: np.ndarray
    slope: np.ndarray
    clipped: float


def click_credits(
    log: ClickLog, propensities: Propensities | None, how: str = "policy", clip: float = 0.0,
    predicted: np.ndarray | None = None,
) -> Credits:  # fmt: skip
    """Turn clicks into labels of items: estimates of the probability of a click on what is examined.

    Parameters
    ----------
    log : ClickLog
        Without rankers (`ClickLog.cells`), and with the contexts of the propensities.
    propensities : Propensities or None
        Identified; None only for "naive".
    how : {"policy", "ips", "dr", "shown", "naive"}, default="policy"
        Clicks over the summed propensities of all impressions; clicks, each over the propensity of its rank,
        per page, which is 0 where a page did not show the document; doubly robust; as "policy", without
        documents that were never shown; or clicks per page.
    clip : float, default=0.0
        The least propensity that is divided by; with "dr" the least examination of a document per page.
    predicted : ndarray of shape (n_items,), optional
        The predicted label of each item, for "dr": it is the label of an item without impressions, and shares
        that of an item which a page examines less than `clip` in the mean. All other labels are those of
        "policy", whose sums over pages the correction of the prediction gives.

    Raises
    ------
    DataError
        If a rank of the log has no propensity.
    """
    check_choice("how", how, HOW)
    if how == "dr" and predicted is None:
        raise ValueError("doubly robust labels need predicted ones: see predict_labels")
    if how == "naive" or propensities is None:
        alpha, beta = np.ones(len(log.rank)), np.zeros(len(log.rank))
    else:
        propensities.require_identified()
        place = propensities.of_cells(log)
        alpha = propensities.propensity[place]
        beta = np.zeros(len(alpha)) if propensities.offset is None else propensities.offset[place]
    n, c, pages = log.impressions, log.clicks, log.pages()[log.query]
    low = np.zeros(len(n), bool) if predicted is not None else alpha < clip
    alpha = np.where(low, clip, alpha)
    if how in ("policy", "dr", "shown"):
        examined, excess = log.sums(n * alpha), log.sums(c - n * beta)
        divided = examined if predicted is None else np.maximum(examined, clip * pages)
        with np.errstate(invalid="ignore", divide="ignore"):  # items without impressions
            click = 1.0 / divided
            label = follows = np.where(divided > 0, excess * click, 0.0)
            few = examined < divided
            if predicted is not None:
                follows = np.where(few, predicted, label)
                label = np.where(divided > 0, label + predicted * (1.0 - examined * click), predicted)
            slope = -(follows * click)[log.item] * n * alpha
        click, clipped = click[log.item], low | few[log.item]
    else:
        click, clipped = 1.0 / (alpha * pages[log.item]), low
        label = log.sums((c - n * beta) * click)
        slope = -(c - n * beta) * click
    # A clipped propensity does not follow its estimate.
    return Credits(label, click, np.where(low, 0.0, slope), float(c[clipped].sum() / max(c.sum(), 1)))


def predict_labels(
    groups: QueryGroups, log: ClickLog, propensities: Propensities, *, seed: int = 0
) -> np.ndarray:
    """Predict the labels of documents from their features, those of each query from other queries.

    Boosted regression trees learn the labels of documents that were shown, weighted by how often they were
    examined. They read features in 255 intervals of equal weight.

    Parameters
    ----------
    groups : QueryGroups
        Documents with features, of the queries of the log.
    log : ClickLog
    propensities : Propensities
    seed : int, default=0
        Of the parts of the queries.

    Returns
    -------
    ndarray of shape (n_docs,), float64
        In row order.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    item, cells = places_of(log, groups.qid, document_names(groups)), cells_of(log, propensities)
    label = click_credits(cells, propensities).label
    examined = propensities.propensity[propensities.of_cells(cells)]
    weight = cells.sums(cells.impressions * examined)
    numbers = np.unique(groups.qid.astype(str), return_inverse=True)[1]
    part = (np.random.default_rng(seed).permutation(numbers.max() + 1) % CROSS_FITTED)[numbers]
    in_log, values = item >= 0, np.zeros(groups.n_docs)
    X = _in_intervals(groups.X, np.where(in_log, weight[item], 0.0))
    for number in np.unique(part):
        rows = in_log & (part != number)
        if not rows.any():
            raise DataError(f"{log.source}: too few queries for doubly robust labels: each needs others")
        model: Any = HistGradientBoostingRegressor(random_state=seed)
        model.set_params(early_stopping=False)
        # Several threads spin at each of thousands of small steps, for minutes where other work runs.
        with threadpool_limits(1, user_api="openmp"):
            model.fit(X[rows], label[item[rows]], weight[item[rows]])
            values[part == number] = model.predict(X[part == number])
    return values if propensities.offset is not None else np.clip(values, 0.0, 1.0)


def _in_intervals(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return features as numbers of intervals of equal weight; those with few values stay, as NaN does."""
    out = np.array(X)
    for column in out.T:
        present = ~np.isnan(column)
        if len(np.unique(column[present])) > MOST_VALUES:
            order = np.flatnonzero(present)[np.argsort(column[present], kind="stable")]
            reach = np.cumsum(weight[order])
            places = np.linspace(0.0, reach[-1], MOST_VALUES + 1)[1:-1]
            bounds = column[order][np.searchsorted(reach, places)]
            column[present] = np.searchsorted(bounds, column[present])
    return out


def cells_of(log: ClickLog, propensities: Propensities | None) -> ClickLog:
    """Return the cells of a log, in the contexts of propensities if these have some."""
    return log.cells(by_context=propensities is not None and propensities.curves is not None)


def never_shown(groups: QueryGroups, log: ClickLog) -> float:
    """Return the share of the documents of a log's queries that it never showed."""
    logged = np.isin(groups.qid.astype(str), log.qid)
    unseen = places_of(log, groups.qid, document_names(groups))[logged] < 0
    return float(unseen.mean()) if len(unseen) else 0.0


def default_how(groups: QueryGroups | None, log: ClickLog) -> str:
    """Return "dr" where documents have features and other queries can predict their labels, or "policy"."""
    if groups is None:
        return "policy"
    return "dr" if np.isin(log.qid, groups.qid.astype(str)).sum() > 1 else "policy"


def _with_documents(
    log: ClickLog, groups: QueryGroups, propensities: Propensities | None, how: str, clip: float
) -> tuple[ClickLog, np.ndarray | None]:
    """Return the log with all documents and their predicted labels, if `how` reads predictions."""
    if how != "dr" or propensities is None:
        return log, None
    wide = log.with_items(groups.qid, document_names(groups))
    predicted = np.zeros(wide.n_items)
    if clip or wide.n_items > log.n_items:  # else no label is a predicted one
        item = places_of(wide, groups.qid, document_names(groups))
        predicted[item[item >= 0]] = predict_labels(groups, log, propensities)[item >= 0]
    return wide, predicted


def places_of(log: ClickLog, qid: np.ndarray, docid: np.ndarray) -> np.ndarray:
    """Return the item of each row of names, −1 where the log has none."""
    names = zip(log.qid[log.query].tolist(), log.docid.tolist(), strict=True)
    number = {name: item for item, name in enumerate(names)}
    rows = zip(np.asarray(qid).astype(str).tolist(), np.asarray(docid).astype(str).tolist(), strict=True)
    return np.array([number.get(name, -1) for name in rows], np.int64)


def label_clicks(
    groups: QueryGroups, log: ClickLog, propensities: Propensities | None, *, how: str | None = None,
    clip: float = 0.0, scale: bool = True,
) -> tuple[QueryGroups, np.ndarray]:  # fmt: skip
    """Label documents by clicks, so that rankers train for the measure that the log would show.

    Parameters
    ----------
    groups : QueryGroups
        Documents with features; relevance is not read. Documents are matched by qid and docid.
    log : ClickLog
    propensities : Propensities or None
        None only for ``how="naive"``.
    how : str, optional
        As in `click_credits`; "dr" by default, or "policy" for one query. A document that was never shown
        has the label that its features predict ("dr"); it is left out ("shown", and under trust bias, where
        no label has an origin, whenever it is not predicted); else its label is 0.
    clip
        As in `click_credits`.
    scale : bool, default=True
        Divide all labels by the mean DCG of the best rankings, so that penalties mean what they do for nDCG;
        no ranking changes.

    Returns
    -------
    labelled : QueryGroups
        The queries of the log, with real labels.
    pages : ndarray of shape (n_queries,)
        How often each of them was answered: its weight, `sample_weight` of `fit`.

    Raises
    ------
    DataError
        If the log has none of the documents, or propensities do not fit the log.

    Examples
    --------
    >>> from directrank import CoordinateAscent, make_ranking
    >>> from directrank.apps.clicks import estimate_propensities, label_clicks, make_clicks
    >>> groups = make_ranking(50, random_state=0)
    >>> log = make_clicks(groups, {"a": groups.X[:, 0], "b": groups.X[:, 1]}, random_state=0)
    >>> labelled, pages = label_clicks(groups, log, estimate_propensities(log))
    >>> ranker = CoordinateAscent("ClickDCG@10").fit(labelled, sample_weight=pages)
    """
    item = places_of(log, groups.qid, document_names(groups))
    if not (item >= 0).any():
        raise DataError(
            f"{log.source}: none of its documents is in {groups.name or 'the data'}: they are called "
            f"{str(log.docid[0])!r} of query {str(log.qid[log.query[0]])!r}, and "
            f"{str(document_names(groups)[0])!r} of query {str(groups.qid[0])!r}, for example"
        )
    how = how or default_how(groups, log)
    trust = propensities is not None and propensities.offset is not None
    log, predicted = _with_documents(log, groups, propensities, how, clip)
    item = places_of(log, groups.qid, document_names(groups)) if predicted is not None else item
    label = click_credits(cells_of(log, propensities), propensities, how, clip, predicted).label
    X, qid, names = groups.X, groups.qid, document_names(groups)
    if how == "shown" or (trust and how in ("policy", "ips")):
        X, qid, names, item = (values[item >= 0] for values in (X, qid, names, item))
    labelled = QueryGroups(
        X, RealLabels(np.where(item >= 0, label[item], 0.0)), qid, docid=names,
        feature_names=groups.feature_names, name=groups.name, categories=groups.categories,
    )  # fmt: skip
    labelled.encoding = groups.encoding
    pages = np.zeros(labelled.n_queries)
    query = labelled.to_caller(labelled.queries.query)
    pages[query[item >= 0]] = log.pages()[log.query[item[item >= 0]]]
    best = best_values(ClickDCG(), labelled.queries)
    mean = float(best @ pages / pages.sum())
    if scale and mean > 0:
        real = replace(labelled.queries, relevance=labelled.queries.relevance / mean, _cache={})
        labelled = labelled.with_features(labelled.source, queries=real)
    answered = pages > 0
    return labelled.select(answered), pages[answered]


@dataclass(frozen=True)
class Difference:
    """How much more a ranking would have earned than another one, per answer.

    Attributes
    ----------
    name : str
    value : float
        The estimated measure of the ranking.
    difference : float
        The estimated difference to the baseline.
    by_sessions, by_queries : tuple of float
        95 % intervals: on the queries of the log, and for new queries, NaN where queries are too few; with
        the errors of propensities.
    naive : float
        The difference if clicks were labels.
    effective : float
        The number of equal clicks that would leave as much noise.
    largest : float
        The share of one click in all.
    unseen : float
        The share of the ranking's weights on documents that the log never showed, which count 0, or what is
        predicted.
    clipped : float
        The share of clicks whose propensity was clipped.
    absent : float
        The share of the answers of the log to queries that the ranking does not have, which count 0.
    doubts : tuple of str
        What is doubtful about the propensities: `Propensities.doubts`.
    effective_queries : float
        The number of queries of equal numbers of pages that tell as much.
    skewness : float
        That of the difference, times the root of `effective_queries`; where propensities have no errors, that
        of what queries add.
    """

    name: str
    value: float
    difference: float
    by_sessions: tuple[float, float]
    by_queries: tuple[float, float]
    naive: float
    effective: float
    largest: float
    unseen: float
    clipped: float
    absent: float = 0.0
    doubts: tuple[str, ...] = ()
    effective_queries: float = float("nan")
    skewness: float = 0.0

    @property
    def error(self) -> float:
        """The standard error of the difference for new queries; NaN where there is no interval."""
        reach = float(t.ppf(0.975, max(self.effective_queries - 1.0, 1.0)))
        return (self.by_queries[1] - self.by_queries[0]) / 2 / reach

    @property
    def is_better(self) -> bool:
        """Whether the interval for new queries is above 0: the gate to a deployment."""
        return self.by_queries[0] > 0

    def to_dict(self) -> JSONObject:
        """Return what JSON holds: the figures, whether it is better, and the flags; None where none is."""
        intervals = {
            name: getattr(self, name) if np.isfinite(getattr(self, name)).all() else None
            for name in ("by_sessions", "by_queries")
        }
        lists = {"doubts": [*self.doubts], "flags": self.flags()}
        return {**vars(self), **intervals, **lists, "better": self.is_better}

    def flags(self) -> list[str]:
        """Return what makes the figures doubtful."""
        lines = list(self.doubts)
        if np.isnan(self.by_queries[0]):
            lines.append("queries are too few for an interval for new ones")
        if 0 < self.effective < FEW:  # 0 if nothing differs
            lines.append(f"{self.effective:.0f} effective clicks, fewer than {FEW:.0f}")
        if self.largest > LARGE:
            lines.append(f"one click has {self.largest:.0%} of all weights")
        if self.unseen > UNSEEN:
            lines.append(
                f"{self.unseen:.0%} of this ranking's weight is on documents that the log never showed: they "
                "count 0, so that the gain is underestimated, or as predicted"
            )
        if self.absent > 0:
            lines.append(f"{self.absent:.1%} of answers are to queries without a ranking, counted 0")
        return lines


def check_baseline(baseline: str | None, names: Iterable[str]) -> None:
    """Raise DataError unless a baseline is one of some rankings, or None."""
    names = list(names)
    if baseline is not None and baseline not in names:
        raise DataError(f"no ranking is called {baseline!r}; there are {', '.join(names)}")


def evaluate_clicks(
    log: ClickLog, propensities: Propensities, rankings: Mapping[str, object], *,
    measure: str | Measure = "DCG@10", baseline: str | None = None, how: str | None = None,
    clip: float = 0.0, documents: QueryGroups | None = None,
) -> list[Difference]:  # fmt: skip
    """Estimate from a log what rankings would have earned that were never shown.

    Rankings and the order shown are measured alike at the documents that the pages of a query show: what a
    ranking has below them counts nothing.

    Parameters
    ----------
    log : ClickLog
    propensities : Propensities
        With covariance: intervals carry the errors of propensities. Without, these are taken as known.
    rankings : mapping of str to ranking
        A path of a TREC run, or of a table with qid, docid and score; three arrays of these; a mapping of qid
        to a mapping of docid to score; QueryGroups with a fitted ranker or with scores; None for the order
        that the log shows; or a list of these, such as of several seeds, which counts with their mean. Equal
        scores share the weights of their ranks.
    measure : str or Measure, default="DCG@10"
        DCG (gains are linear), P or RBP.
    baseline : str, optional
        One of the rankings; the order that the log shows by default.
    how : {"dr", "policy", "ips"}, optional
        As in `click_credits`; "dr" with `documents`, else "policy".
    clip
        As in `click_credits`.
    documents : QueryGroups, optional
        Documents with features, for doubly robust estimates: a document that was never shown counts what
        other queries predict. Intervals do not carry the errors of predictions.

    Returns
    -------
    list of Difference

    Raises
    ------
    DataError
        If propensities are not identified, a ranking has no document of the log, or under trust bias two
        rankings have different numbers of documents with a label on a query's pages.
    MeasureNameError
        If the measure is not affine in labels.
    """
    return Earnings.of(log, propensities, measure, how, clip, documents).differences(rankings, baseline)


@dataclass(frozen=True, eq=False)
class Earnings:
    """The labels and pages of a log, by which any ranking of its documents is measured.

    See `evaluate_clicks`. A list of rankings, such as those of several seeds, counts with their mean.
    """

    log: ClickLog
    propensities: Propensities
    how: str
    clip: float
    predicted: np.ndarray | None
    cells: ClickLog
    credit: Credits
    on_pages: Pages

    @classmethod
    def of(
        cls, log: ClickLog, propensities: Propensities, measure: str | Measure, how: str | None = None,
        clip: float = 0.0, documents: QueryGroups | None = None,
    ) -> "Earnings":  # fmt: skip
        """Return those of a log by its propensities; arguments as in `evaluate_clicks`."""
        weight_of, predicted = click_measure(measure), None
        how = how or default_how(documents, log)
        check_choice("how", how, EVALUATED)
        if how == "dr":
            if documents is None:
                raise ValueError("doubly robust estimates need the documents with their features")
            log, predicted = _with_documents(log, documents, propensities, how, clip)
        cells = cells_of(log, propensities)
        credit = click_credits(cells, propensities, how, clip, predicted)
        return cls(log, propensities, how, clip, predicted, cells, credit, Pages.of(log, weight_of))

    def weights(self, name: str, ranking: Any) -> tuple[np.ndarray, float, float]:
        """Return the weight of each item in a ranking, as `ranking_weights`; None is the order shown."""
        if isinstance(ranking, list):
            weights, unseen, absent = zip(*(self.weights(name, one) for one in ranking), strict=True)
            return np.mean(weights, axis=0), float(np.mean(unseen)), float(np.mean(absent))
        if ranking is None:
            return self.on_pages.shown, 0.0, 0.0
        return ranking_weights(self.log, self.on_pages, name, ranking)

    def by_query(self, name: str, ranking: Any) -> np.ndarray:
        """Return what a ranking earns an answer of each query, (n_queries,)."""
        return np.bincount(
            self.log.query, self.weights(name, ranking)[0] * self.credit.label, self.log.n_queries
        )

    def differences(self, rankings: Mapping[str, Any], baseline: str | None = None) -> list[Difference]:
        """Return what rankings earn more than a baseline; see `evaluate_clicks`."""
        log, propensities, how, clip, predicted = (
            self.log, self.propensities, self.how, self.clip, self.predicted,
        )  # fmt: skip
        cells, credit, pages, logged = self.cells, self.credit, self.log.pages(), self.on_pages.shown
        weights, unseen, absent = {}, {}, {}
        for name, ranking in rankings.items():
            weights[name], unseen[name], absent[name] = self.weights(name, ranking)
        check_baseline(baseline, weights)
        traffic = pages / pages.sum()
        share = traffic[log.query]
        naive = click_credits(cells, None, "naive")
        place = propensities.of_cells(cells)
        influence, others = _influence(log, propensities)
        labelled = np.ones(log.n_items, bool) if predicted is not None else log.sums(log.impressions) > 0
        rows = []
        for name, weight in weights.items():
            change = (weight - (logged if baseline is None else weights[baseline])) * share
            if propensities.offset is not None:
                _require_equal_totals(log, name, change * labelled)
            contribution = change * credit.label
            difference = float(contribution.sum())
            x = change[cells.item] * credit.click
            gradient = np.bincount(place, change[cells.item] * credit.slope, len(propensities.position))
            carried = 0.0
            if propensities.covariance is not None:
                carried = float(gradient @ propensities.covariance @ gradient)
            by_sessions = float(x**2 @ cells.clicks) + carried
            of_query = np.bincount(log.query, contribution, log.n_queries) - traffic * difference
            if influence is not None and others is not None:
                of_query += influence @ gradient
                carried = float(((others @ gradient) ** 2).sum())
            by_queries = float((of_query**2).sum()) + carried
            if propensities.replicates is not None:
                by_queries = by_sessions = _jackknife(log, propensities, change, how, clip, predicted)
            effective_queries = pages.sum() ** 2 / (pages**2).sum()
            skewness = (of_query**3).sum() / max(by_queries**1.5, 1e-300) * effective_queries**0.5
            by_queries *= effective_queries / max(effective_queries - 1.0, 1e-9)
            size = np.abs(x) @ cells.clicks
            rows.append(
                Difference(
                    name, float((weight * share) @ credit.label), difference,
                    _interval(difference, by_sessions, np.inf),
                    _interval(difference, by_queries, effective_queries - 1)
                    if has_clusters(pages) else (float("nan"), float("nan")),
                    float(change @ naive.label), float(size**2 / max(x**2 @ cells.clicks, 1e-300)),
                    float(np.abs(x)[cells.clicks > 0].max(initial=0.0) / max(size, 1e-300)), unseen[name],
                    credit.clipped, absent[name], tuple(propensities.doubts()),
                    float(effective_queries), float(skewness),
                )
            )  # fmt: skip
        return rows


def _interval(value: float, variance: float, freedom: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf(0.975) if np.isinf(freedom) else float(t.ppf(0.975, max(freedom, 1.0)))
    return value - z * float(variance) ** 0.5, value + z * float(variance) ** 0.5


def _require_equal_totals(log: ClickLog, name: str, change: np.ndarray) -> None:
    """Raise DataError unless the weights of documents with a label have the same sum on each query."""
    totals = np.bincount(log.query, change, log.n_queries)
    if (unequal := np.abs(totals) > EQUAL).any():
        raise DataError(
            f"{log.source}: {name}: under trust bias a difference is that of rankings of the same numbers of "
            f"documents that were shown, and those of query {str(log.qid[int(unequal.argmax())])!r} differ; "
            "give the features of all documents (--how dr --documents), or leave out of the run what was "
            "never shown"
        )


def _queries_of(log: ClickLog, propensities: Propensities) -> np.ndarray:
    """Return the number of each query of a log among those that propensities are from, −1 where it is new."""
    number = {name: place for place, name in enumerate(propensities.qid.tolist())}
    return np.array([number.get(name, -1) for name in log.qid.tolist()], np.int64)


def _influence(log: ClickLog, propensities: Propensities) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return what each query of the log, and each other one, added to log p."""
    if propensities.influence is None:
        return None, None
    influence, at = propensities.influence, _queries_of(log, propensities)
    return np.where(at[:, None] >= 0, influence[at], 0.0), np.delete(influence, at[at >= 0], axis=0)


def ranking_weights(
    log: ClickLog, on_pages: Pages, name: str, ranking: Any
) -> tuple[np.ndarray, float, float]:
    """Return the weight of each item in a ranking on the pages of a log, 0 where it has none.

    Also the share of its weights on documents that were not shown, and of answers to queries that it lacks.
    """
    if isinstance(ranking, (str, Path)):
        ranking = read_scored(Path(ranking))
    if isinstance(ranking, Mapping):
        rows = [(qid, docid, score) for qid, of in ranking.items() for docid, score in of.items()]
        ranking = tuple(zip(*rows, strict=True)) or ((), (), ())
    if isinstance(ranking[0], QueryGroups):
        groups, scores = ranking
        scores = scores.predict(groups) if hasattr(scores, "predict") else scores
        ranking = groups.qid.astype(str), document_names(groups), scores
    qid, docid, scores = (np.asarray(column) for column in ranking)
    wanted = np.isin(qid.astype(str), log.qid)
    if not wanted.any():
        raise DataError(f"{name}: none of its queries is in {log.source}: check the names of queries")
    qid, docid, scores = qid[wanted], docid[wanted], scores[wanted].astype(float)
    number = {name: place for place, name in enumerate(log.qid.tolist())}
    query = np.array([number[word] for word in qid.astype(str).tolist()])
    document = np.unique(docid.astype(str), return_inverse=True)[1]
    pairs, first, times = np.unique(
        query * (document.max() + 1) + document, return_index=True, return_counts=True
    )
    if len(pairs) < len(query):
        row = first[int(times.argmax())]
        raise DataError(
            f"{name}: document {str(docid[row])!r} is twice in the ranking of query {str(qid[row])!r}"
        )
    order = np.lexsort((-scores, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    weight = on_pages.weights(query[order], rank)
    block = (
        np.cumsum((np.diff(query[order], prepend=-1) != 0) | (np.diff(scores[order], prepend=np.nan) != 0))
        - 1
    )
    mean = np.bincount(block, weight) / np.bincount(block)
    item = places_of(log, qid[order], docid[order])
    if not (item >= 0).any():
        raise DataError(f"{name}: none of its documents is in {log.source}: check the names of documents")
    weights = np.zeros(log.n_items)
    weights[item[item >= 0]] = mean[block][item >= 0]
    pages = log.pages()
    of_row = pages[query[order]] * mean[block]
    new = (item < 0) | (log.sums(log.impressions)[item] == 0)
    absent = pages[~np.isin(log.qid, qid.astype(str))].sum() / pages.sum()
    return weights, float(of_row[new].sum() / max(of_row.sum(), 1e-300)), float(absent)


def _jackknife(
    log: ClickLog, trust: Propensities, change: np.ndarray, how: str, clip: float,
    predicted: np.ndarray | None,
) -> float:  # fmt: skip
    """Return the variance of a difference under trust bias, over groups of queries that are left out."""
    values, n = [], len(trust.position)
    pages, at = log.pages(), _queries_of(log, trust)
    group_of_query = np.where(at >= 0, trust.group[at], -1)
    for group, fitted in enumerate(trust.replicates):
        rest = group_of_query != group
        without = replace(trust, propensity=fitted[:n], offset=fitted[n:])
        label = click_credits(cells_of(log, trust), without, how, clip, predicted).label
        some = rest[log.query]
        values.append(float(change[some] @ label[some]) * pages.sum() / max(pages[rest].sum(), 1e-300))
    count = len(values)
    return (count - 1) / count * float(((np.array(values) - np.mean(values)) ** 2).sum())

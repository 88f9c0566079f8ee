r"""What clicks and propensities say about documents and about rankings that were never shown.

**Theorem.** A measure has an unbiased estimate by reweighting single clicks iff it is affine in the labels
for every ranking. Such an estimate is a sum over documents of a weight times a click, whose expectation is
affine in the probabilities r of a click on what is examined; so the measure is. If it is, Σ l(π_d) c_d / p_d
is one.
DCG with linear gains, P and RBP are; AP, nDCG, ERR, RR and gains 2^r − 1 are not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.stats import t

from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.propensities import Propensities
from directrank.contracts import Measure
from directrank.data import QueryGroups, RealLabels
from directrank.errors import DataError, MeasureNameError, check_choice
from directrank.files import document_names, read_scored
from directrank.measures import DCG, RBP, WTA, ClickDCG, ClickP, ClickRBP, P, best_values, parse_measure

#: How clicks become labels: divided by the examination of the document in all of the log, or click by click.
HOW = ("policy", "ips", "naive")
#: Below so many effective clicks, or with a click or an unseen part above this share, a line says so.
FEW, LARGE, UNSEEN = 100.0, 0.1, 0.05


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
    asked = parse_measure(measure)
    if isinstance(asked, (ClickDCG, ClickP, ClickRBP)):
        return asked
    if type(asked) is DCG and asked.discount == "log2":
        return ClickDCG(asked.cutoff)
    if type(asked) is WTA:
        return ClickP(1)
    if type(asked) is P:
        return ClickP(asked.cutoff)
    if type(asked) is RBP:
        return ClickRBP(asked.cutoff, p=asked.p)
    raise MeasureNameError(
        f"{asked.name} cannot be estimated from clicks: a measure has an unbiased estimate by reweighting "
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
    log: ClickLog, propensities: Propensities | None, how: str = "policy", clip: float = 0.0
) -> Credits:
    """Turn clicks into labels of items: estimates of the probability of a click on what is examined.

    Parameters
    ----------
    log : ClickLog
        Without rankers and contexts (`ClickLog.cells`).
    propensities : Propensities or None
        Identified; None only for "naive".
    how : {"policy", "ips", "naive"}, default="policy"
        Clicks over the sum of propensities of all impressions of the item; clicks each over the propensity of
        its rank, a page, which is 0 where a page did not show the document; or clicks a page.
    clip : float, default=0.0
        The least propensity that is divided by.

    Raises
    ------
    DataError
        If a rank of the log has no propensity.
    """
    check_choice("how", how, HOW)
    if how == "naive" or propensities is None:
        alpha, beta = np.ones(len(log.rank)), np.zeros(len(log.rank))
    else:
        propensities.require_identified()
        if log.n_ranks > propensities.position[-1] or (np.diff(propensities.position) > 1).any():
            raise DataError(
                f"{log.source}: has rank {log.n_ranks}, but propensities end at rank "
                f"{propensities.position[-1]} or leave ranks out; read the first ranks alone (--ranks), or "
                "estimate propensities of all"
            )
        place = log.rank - propensities.position[0]
        alpha = propensities.propensity[place]
        beta = np.zeros(len(alpha)) if propensities.offset is None else propensities.offset[place]
    low = alpha < clip
    alpha, n, c = np.maximum(alpha, clip), log.impressions, log.clicks
    pages = log.pages()[log.query]
    if how == "policy":
        examined = log.sums(n * alpha)
        label = log.sums(c - n * beta) / examined
        click = 1.0 / examined[log.item]
        slope = -(label / examined)[log.item] * n * alpha
    else:
        click = 1.0 / (alpha * pages[log.item])
        label = log.sums((c - n * beta) * click)
        slope = -(c - n * beta) * click
    return Credits(label, click, np.where(low, 0.0, slope), float(c[low].sum() / max(c.sum(), 1)))


def _places(log: ClickLog, qid: np.ndarray, docid: np.ndarray) -> np.ndarray:
    """Return the item of each row of names, −1 where the log has none."""
    names = zip(log.qid[log.query].tolist(), log.docid.tolist(), strict=True)
    number = {name: item for item, name in enumerate(names)}
    rows = zip(np.asarray(qid).astype(str).tolist(), np.asarray(docid).astype(str).tolist(), strict=True)
    return np.array([number.get(name, -1) for name in rows], np.int64)


def label_clicks(
    groups: QueryGroups, log: ClickLog, propensities: Propensities | None, *, how: str = "policy",
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
    how, clip
        As in `click_credits`.
    scale : bool, default=True
        Divide all labels by the mean DCG of the best rankings, so that penalties mean what they do for nDCG;
        no ranking changes.

    Returns
    -------
    labelled : QueryGroups
        The queries of the log, with real labels; a document that was never shown has 0.
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
    item = _places(log, groups.qid, document_names(groups))
    if not (item >= 0).any():
        raise DataError(
            f"{log.source}: none of its documents is in {groups.name or 'the data'}: they are called "
            f"{log.docid[0]!r} of query {log.qid[log.query[0]]!r}, and {document_names(groups)[0]!r} of "
            f"query {str(groups.qid[0])!r}, for example"
        )
    label = click_credits(log.cells(), propensities, how, clip).label
    labels = np.where(item >= 0, label[item], 0.0)
    made = QueryGroups(
        groups.X, RealLabels(labels), groups.qid, docid=document_names(groups),
        feature_names=groups.feature_names, name=groups.name, categories=groups.categories,
    )  # fmt: skip
    made.encoding = groups.encoding
    pages = np.zeros(made.n_queries)
    query = made.to_caller(made.queries.query)
    pages[query[item >= 0]] = log.pages()[log.query[item[item >= 0]]]
    best = best_values(ClickDCG(), made.queries)
    mean = float(best @ pages / pages.sum())
    if scale and mean > 0:
        real = replace(made.queries, relevance=made.queries.relevance / mean, _cache={})
        made = made.with_features(made.source, queries=real)
    shown = pages > 0
    return made.select(shown), pages[shown]


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
        95 % intervals: on the queries of the log, and for new queries; with the errors of propensities.
    naive : float
        The difference if clicks were labels.
    effective : float
        The number of equal clicks that would leave as much noise.
    largest : float
        The share of one click in all.
    unseen : float
        The share of the ranking's weights on documents that the log never showed, which count 0.
    clipped : float
        The share of clicks whose propensity was clipped.
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

    @property
    def is_better(self) -> bool:
        """Whether the interval for new queries is above 0: the gate to a deployment."""
        return self.by_queries[0] > 0

    def flags(self) -> list[str]:
        """Return what makes the figures doubtful."""
        lines = []
        if self.effective < FEW:
            lines.append(f"{self.effective:.0f} effective clicks, fewer than {FEW:.0f}")
        if self.largest > LARGE:
            lines.append(f"one click has {self.largest:.0%} of all weights")
        if self.unseen > UNSEEN:
            lines.append(f"{self.unseen:.0%} of the weights are on documents never shown, counted 0")
        return lines


def evaluate_clicks(
    log: ClickLog, propensities: Propensities, rankings: Mapping[str, Any], *,
    measure: str | Measure = "DCG@10", baseline: str | None = None, how: str = "policy", clip: float = 0.0,
) -> list[Difference]:  # fmt: skip
    """Estimate from a log what rankings would have earned that were never shown.

    Parameters
    ----------
    log : ClickLog
    propensities : Propensities
        With covariance: intervals carry the errors of propensities. Without, these are taken as known.
    rankings : mapping of str to ranking
        A path of a TREC run or of a table of qid, docid and score; three arrays of these; or QueryGroups with
        a fitted ranker or with scores. Equal scores share the weights of their ranks.
    measure : str or Measure, default="DCG@10"
        DCG (gains are linear), P or RBP.
    baseline : str, optional
        One of the rankings; the order that the log shows by default.
    how, clip
        As in `click_credits`.

    Returns
    -------
    list of Difference

    Raises
    ------
    DataError
        If propensities are not identified, or a ranking has no document of the log.
    MeasureNameError
        If the measure is not affine in labels.
    """
    weight_of, cells = click_measure(measure), log.cells()
    pages = log.pages()
    discounts = _cut(weight_of, max(cells.n_ranks, 1))
    logged = cells.sums(cells.impressions * discounts[cells.rank - 1]) / pages[log.query]
    weights, unseen = {}, {}
    for name, ranking in rankings.items():
        weights[name], unseen[name] = _weights(log, weight_of, name, ranking)
    if baseline is not None and baseline not in weights:
        raise DataError(f"no ranking is called {baseline!r}; there are {', '.join(weights)}")
    traffic = pages / pages.sum()
    share = traffic[log.query]
    found, plain = click_credits(cells, propensities, how, clip), click_credits(cells, None, "naive")
    rows = []
    for name, own in weights.items():
        change = (own - (logged if baseline is None else weights[baseline])) * share
        contribution = change * found.label
        difference = float(contribution.sum())
        x = change[cells.item] * found.click
        gradient = np.bincount(cells.rank, change[cells.item] * found.slope, cells.n_ranks + 1)[1:]
        gradient = gradient[propensities.position - 1] if len(gradient) else gradient
        n_used = len(gradient)
        carried = 0.0 if propensities.covariance is None else float(
            gradient @ propensities.covariance[:n_used, :n_used] @ gradient
        )  # fmt: skip
        by_sessions = float(x**2 @ cells.clicks) + carried
        of_query = np.bincount(log.query, contribution, log.n_queries) - traffic * difference
        if propensities.influence is not None:
            by_queries = float(((of_query + propensities.influence[:, :n_used] @ gradient) ** 2).sum())
        else:
            by_queries = float((of_query**2).sum()) + carried
        if propensities.replicates is not None:
            by_queries = by_sessions = _jackknife(log, propensities, change, how, clip)
        effective_queries = pages.sum() ** 2 / (pages**2).sum()
        by_queries *= effective_queries / max(effective_queries - 1.0, 1e-9)
        size = np.abs(x) @ cells.clicks
        rows.append(
            Difference(
                name, float((own * share) @ found.label), difference,
                _interval(difference, by_sessions, np.inf),
                _interval(difference, by_queries, effective_queries - 1),
                float(change @ plain.label), float(size**2 / max(x**2 @ cells.clicks, 1e-300)),
                float(np.abs(x)[cells.clicks > 0].max(initial=0.0) / max(size, 1e-300)), unseen[name],
                found.clipped,
            )
        )  # fmt: skip
    return rows


def _interval(value: float, variance: float, freedom: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf(0.975) if np.isinf(freedom) else float(t.ppf(0.975, max(freedom, 1.0)))
    return value - z * float(variance) ** 0.5, value + z * float(variance) ** 0.5


def _cut(measure: ClickDCG | ClickP | ClickRBP, n_ranks: int) -> np.ndarray:
    return np.where(np.arange(n_ranks) < (measure.cutoff or n_ranks), measure.discounts(n_ranks), 0.0)


def _weights(log: ClickLog, measure: Any, name: str, ranking: Any) -> tuple[np.ndarray, float]:
    """Return the weight of each item in a ranking, 0 where it has none, and the share of unseen documents."""
    if isinstance(ranking, (str, Path)):
        ranking = read_scored(Path(ranking))
    if isinstance(ranking[0], QueryGroups):
        groups, scores = ranking
        scores = scores.predict(groups) if hasattr(scores, "predict") else scores
        ranking = groups.qid.astype(str), document_names(groups), scores
    qid, docid, scores = (np.asarray(column) for column in ranking)
    wanted = np.isin(qid.astype(str), log.qid)
    if not wanted.any():
        raise DataError(f"{name}: none of its queries is in {log.source}: check the names of queries")
    qid, docid, scores = qid[wanted], docid[wanted], scores[wanted].astype(float)
    query = np.unique(qid.astype(str), return_inverse=True)[1]
    order = np.lexsort((-scores, query))
    starts = np.flatnonzero(np.diff(query[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    weight = _cut(measure, int(rank.max()) + 1)[rank]
    block = (
        np.cumsum((np.diff(query[order], prepend=-1) != 0) | (np.diff(scores[order], prepend=np.nan) != 0))
        - 1
    )
    mean = np.bincount(block, weight) / np.bincount(block)
    item = _places(log, qid[order], docid[order])
    if not (item >= 0).any():
        raise DataError(f"{name}: none of its documents is in {log.source}: check the names of documents")
    places, times = np.unique(item[item >= 0], return_counts=True)
    if (times > 1).any():
        twice = log.docid[places[times > 1][0]]
        raise DataError(f"{name}: document {twice!r} is twice in the ranking of a query")
    weights = np.zeros(log.n_items)
    weights[item[item >= 0]] = mean[block][item >= 0]
    traffic = dict(zip(log.qid.tolist(), log.pages().tolist(), strict=True))
    of_row = np.array([traffic[word] for word in qid[order].astype(str).tolist()]) * mean[block]
    return weights, float(of_row[item < 0].sum() / max(of_row.sum(), 1e-300))


def _jackknife(log: ClickLog, trust: Propensities, change: np.ndarray, how: str, clip: float) -> float:
    """Return the variance of a difference under trust bias, over groups of queries that are left out."""
    values, n = [], len(trust.position)
    pages = log.pages()
    for group, fitted in enumerate(trust.replicates):
        kept = trust.group != group
        without = replace(trust, propensity=fitted[:n], offset=fitted[n:])
        label = click_credits(log.cells(), without, how, clip).label
        some = kept[log.query]
        values.append(float(change[some] @ label[some]) * pages.sum() / max(pages[kept].sum(), 1e-300))
    count = len(values)
    return (count - 1) / count * float(((np.array(values) - np.mean(values)) ** 2).sum())

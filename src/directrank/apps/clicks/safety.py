r"""A ranker from clicks that is not worse than the one that made the log, as far as the log can tell.

The estimate of a ranking's measure has a variance of at most :math:`V = \frac{1}{N} E_q \sum_d \omega_d^2 /
\rho_d`, with the weights ω of its documents, their examination ρ a page, and N pages. By Chebyshev's
inequality the measure is above the estimate less :math:`\sqrt{V (1 - \delta) / \delta}` with probability
1 − δ: the exposure-based bound of Gupta, Oosterhuis and de Rijke (2023), where the measure's weights are
examinations. It grows as a ranking leaves what was shown.

PL-Rank is also trained with the clip of proximal ranking policy optimisation (PRPO, Gupta, Oosterhuis and de
Rijke 2024): see `directrank.apps.clicks.ProximalPolicy`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrank.apps.clicks.counterfactual import (
    CROSS_FITTED,
    EVALUATED,
    Difference,
    cells_of,
    click_measure,
    default_how,
    evaluate_clicks,
    label_clicks,
    ranking_weights,
)
from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.pages import Pages
from directrank.apps.clicks.propensities import Propensities
from directrank.apps.clicks.proximal import ProximalPolicy
from directrank.apps.evaluation.significance import interval_text
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.estimators import PLRank, Ranker
from directrank.estimators.sklearn_interface import unfitted
from directrank.files import document_names
from directrank.scorers import summed

#: PL-Rank gains nothing from a weight above so many times that of the document in the logging order.
RATIO = 1.5
#: Shares of the new ranker in the sum with the logging one, the largest first.
SHARES = (1.0, 0.75, 0.5, 0.25)


@dataclass(frozen=True)
class Safe:
    """A ranker that the gate let through, or the logging ranker.

    Attributes
    ----------
    ranker : Ranker
        The new one, its sum with the logging ranker, or the logging ranker itself.
    share : float
        The share of the new ranker; 0 if it is the logging ranker.
    difference : Difference
        The measure by clicks of the sum that the bound chose, less that of the logging ranker, each query
        ranked by a ranker that did not see its clicks.
    bounds : dict of float to float
        The lower bound on the measure of each share.
    """

    ranker: Any
    share: float
    difference: Difference
    bounds: dict[float, float]

    def line(self) -> str:
        """Return what was decided, and why."""
        interval = (
            f"{self.difference.difference:+.4f}, 95 % interval for new queries "
            + interval_text(self.difference.by_queries)
            + "".join(f". WARNING: {doubt}" for doubt in self.difference.doubts)
        )
        if not self.share:
            return f"safe: the logging ranker stays: the best sum with the new one gains {interval}"
        what = "the new ranker" if self.share == 1.0 else f"the sum of both, {self.share:.0%} of it new"
        return f"safe: {what}: over the logging ranker it gains {interval}"


def safe_ranker(
    ranker: Any, logging: Any, groups: QueryGroups, log: ClickLog, propensities: Propensities, *,
    measure: str | Measure = "DCG@10", how: str | None = None, clip: float = 0.0, delta: float = 0.05,
    seed: int = 0,
) -> Safe:  # fmt: skip
    """Return a ranker from clicks if it is better than the logging ranker, else the logging ranker.

    Clones of the ranker are trained on other queries than they rank. Of sums of their standardised scores
    with those of the logging ranker, the one of the largest exposure-based bound is taken, if its gain passes
    the gate: the lower end of the paired interval for new queries is above 0. `PLRank` is trained with the
    clip of PRPO: a document gains nothing from a weight above 1.5 times that of the logging order.

    Parameters
    ----------
    ranker : Ranker
        Fitted or not; it is fitted to all queries.
    logging : Ranker
        The fitted ranker that answered, or another one that serves.
    groups : QueryGroups
        Documents with features, those of both rankers.
    log : ClickLog
    propensities : Propensities
    measure : str or Measure, default="DCG@10"
    how, clip
        As in `label_clicks`.
    delta : float, default=0.05
        The probability with which the bound may fail.
    seed : int, default=0
        Of the parts of the queries.

    Returns
    -------
    Safe

    Raises
    ------
    DataError
        If there are fewer than 10 queries.
    """
    log = log.of_queries(np.isin(log.qid, groups.qid.astype(str)))
    how = how or default_how(groups, log)
    if log.n_queries < 2 * CROSS_FITTED:
        raise DataError(
            f"{log.source}: {log.n_queries} queries; a safe ranker needs {2 * CROSS_FITTED} or more"
        )
    part = np.random.default_rng(seed).permutation(log.n_queries) % CROSS_FITTED
    qid, names, new = groups.qid.astype(str), document_names(groups), np.zeros(groups.n_docs)
    for number in range(CROSS_FITTED):
        labelled, pages = label_clicks(
            groups, log.of_queries(part != number), propensities, how=how, clip=clip
        )
        copy = _trains(unfitted(ranker), logging, labelled)
        scores = copy.fit(labelled, sample_weight=pages).predict(groups)
        here = np.isin(qid, log.qid[part == number])
        new[here] = scores[here] / _deviation(scores, qid)
    old = logging.predict(groups)
    old = old / _deviation(old, qid)
    ranked = np.isin(qid, log.qid)
    rankings: dict[str, Any] = {
        f"{share:g}": (qid[ranked], names[ranked], (share * new + (1.0 - share) * old)[ranked])
        for share in (*SHARES, 0.0)
    }
    rows = evaluate_clicks(
        log, propensities, rankings, measure=measure, baseline="0",
        how=how if how in EVALUATED else "policy", clip=clip,
        documents=groups.select(np.isin(groups.queries.qid.astype(str), log.qid)),
    )  # fmt: skip
    spread = ((1.0 - delta) / delta) ** 0.5
    bounds = {
        float(row.name): row.value - spread * _largest_error(log, propensities, measure, rankings[row.name])
        for row in rows
    }
    share = max(bounds, key=lambda share: bounds[share])
    chosen = next(row for row in rows if float(row.name) == share)
    labelled, pages = label_clicks(groups, log, propensities, how=how, clip=clip)
    ranker.fit(labelled, sample_weight=pages)
    if (clipped := _trains(ranker, logging, labelled)) is not ranker:
        ranker.scorer_ = clipped.fit(labelled, sample_weight=pages).scorer_
    if share in (0.0, 1.0) or not chosen.is_better:
        share = share if chosen.is_better else 0.0
        return Safe(ranker if share else logging, share, replace(chosen, name="safe"), bounds)
    deviations = [_deviation(model.predict(groups), qid) for model in (logging, ranker)]
    ranker.scorer_ = summed(
        [logging.scorer_, ranker.scorer_], [(1.0 - share) / deviations[0], share / deviations[1]]
    )
    return Safe(ranker, share, replace(chosen, name="safe"), bounds)


def _trains(ranker: Any, logging: Any, labelled: QueryGroups) -> Any:
    """Return the unfitted ranker that is trained: PL-Rank with the clip of PRPO, and any other as it is."""
    if not isinstance(ranker, PLRank):
        return ranker
    loss, solver, scorer = ranker.components()
    clipped = ProximalPolicy(
        loss.measure, logging.predict(labelled), ratio=RATIO, samples=ranker.samples, seed=loss.seed or 0
    )
    shared: Any = {name: getattr(ranker, name) for name in ("scaling", "select_by", "random_state", "n_jobs")}
    return Ranker(clipped, solver, scorer, **shared)


def _deviation(scores: np.ndarray, qid: np.ndarray) -> float:
    """Return the standard deviation of scores inside queries, 1 where there is none."""
    number = np.unique(qid, return_inverse=True)[1]
    centre = np.bincount(number, scores) / np.bincount(number)
    return float(np.std(scores - centre[number])) or 1.0


def _largest_error(log: ClickLog, propensities: Propensities, measure: str | Measure, ranking: Any) -> float:
    """Return the most that the standard error of a ranking's estimate can be, whatever is clicked.

    A document that was never shown counts as if one page had shown it at the last rank.
    """
    qid, docid, _ = ranking
    wide = log.with_items(qid, docid)
    cells, pages = cells_of(wide, propensities), wide.pages()
    p = propensities.propensity[propensities.of_cells(cells)]
    examined = np.maximum(cells.sums(cells.impressions * p), p.min())
    weights = ranking_weights(wide, Pages.of(wide, click_measure(measure)), "ranking", ranking)[0]
    share = (pages / pages.sum())[wide.query]
    return float((share**2 * weights**2 / examined).sum()) ** 0.5

"""Methods that learn from one log, compared by it on queries or days that they did not see."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from directrank.apps.clicks.counterfactual import (
    EVALUATED,
    Earnings,
    check_baseline,
    click_measure,
    default_how,
    never_shown,
    places_of,
)
from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.pages import Pages
from directrank.apps.clicks.propensities import ALARM, Propensities, agreement_with, estimate_propensities
from directrank.apps.clicks.training import (
    SHOWN,
    UNBIASED,
    UNSEEN_WAYS,
    LogFold,
    LogFolds,
    TrainingPart,
    click_methods,
)
from directrank.apps.evaluation import evaluate
from directrank.apps.experiments import Comparison, Observer, ScoredFold, ScoredPlan, plan_scored
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.errors import DataError, check_choice
from directrank.estimators import Ranker
from directrank.files import document_names
from directrank.measures import parse_measure
from directrank.measures.names import split_specs
from directrank.storage.strict_json import JSONObject

#: What is trained if no method is named.
CLICK_METHODS = "coordinate-ascent,lambdaloss,ranksvm"
#: How test sets are made, and folds, or days' parts, if no number is named.
SPLITS, FOLDS = ("queries", "time"), 5
DISAGREE = (
    "Annotators and clicks may disagree: on Baidu-ULTR, methods that predict clicks better agree with "
    "experts no better than clicks as labels do (Hager et al., SIGIR 2024). Judge by the goal that you have."
)


def compare_clicks(
    groups: QueryGroups, log: ClickLog, methods: object = CLICK_METHODS, *, measure: str | Measure = "DCG@10",
    grades: str | Measure = "nDCG@10", split: str = "queries", folds: int = FOLDS,
    propensities: Propensities | None = None, how: str | None = None, clip: float = 0.0,
    safe: Ranker | None = None, baseline: str | None = None, settings: Mapping[str, Any] | None = None,
    grids: Mapping[str, Sequence[Any]] | None = None, search: str = "grid", seed: int = 0,
    seeds: Sequence[int] | None = None, out: str | Path | None = None, force: bool = False, jobs: int = 1,
    observer: Observer | None = None, command: Sequence[str] = (),
) -> Comparison:  # fmt: skip
    """Compare methods that learn from a log of clicks, by what their rankings would have earned.

    Every query is ranked by a model that did not see its clicks. Rows that are always there: the order that
    was shown, each method with clicks as labels, and the first method with the position as a feature, which
    is the first rank when it serves.

    Parameters
    ----------
    groups : QueryGroups
        Documents with features. Where they have grades, rows are measured on these too.
    log : ClickLog
    methods : str or sequence, default="coordinate-ascent,lambdaloss,ranksvm"
        As of `directrank.compare`; also ``"lightgbm:position"`` and ``"xgboost:unbiased"``, the rules of
        these libraries for logs.
    measure : str or Measure, default="DCG@10"
        What is trained for and estimated: DCG (gains are linear), P or RBP.
    grades : str or Measure, default="nDCG@10"
        The measure on grades.
    split : {"queries", "time"}, default="queries"
        Random folds of queries, each tested once; or train on the first days of a log that was read with
        ``by_day=True``, and test on the last 1/`folds` of impressions.
    folds : int, default=5
    propensities : Propensities, optional
        Those of the log by default: of each training part for training, and of the tested part.
    how, clip
        As in `label_clicks`. Where documents were never shown, each method has a further row: with "dr" of
        training on shown documents alone.
    safe : Ranker, optional
        A fitted ranker, such as the one that made the log: each method has a further row, where `safe_ranker`
        decides between both.
    baseline : str, optional
        The row that differences are to; the order shown by default.
    settings, grids, search
        As of `directrank.compare`; but parameters have their defaults unless `grids` names values. These are
        chosen by the measure on a validation part of each training log, which then trains, too.
    seed : int, default=0
        Of the folds, and of training unless there are `seeds`, whose mean is tested.
    seeds : sequence of int, optional
    out : path, optional
        A folder for results. Finished work is saved there at once: the same comparison reuses it.
    force : bool, default=False
        Whether the folder may hold other files.
    jobs : int, default=1
        Processes, of one thread each, that share the training. Results do not depend on it.
    observer : Observer, optional
        Receives progress.
    command : sequence of str, optional
        The command line, recorded with the results.

    Returns
    -------
    Comparison
        Its `content` has the rows and lines. Methods that failed are in ``failed``.

    Raises
    ------
    DataError
        If propensities are not identified, or the log does not fit the documents.
    MeasureNameError
        If the measure is not affine in labels.

    Examples
    --------
    >>> from directrank import make_ranking
    >>> from directrank.apps.clicks import compare_clicks, make_clicks
    >>> groups = make_ranking(50, 8, random_state=0)
    >>> log = make_clicks(groups, {"a": groups.X[:, 0], "b": groups.X[:, 1]}, random_state=0)
    >>> result = compare_clicks(groups, log, "regression", folds=3)
    >>> [row.name for row in result.content.rows]
    ['the order shown', 'regression', 'regression, clicks as labels', 'regression, position as a feature']
    """
    return plan_clicks(
        groups, log, methods, measure=measure, grades=grades, split=split, folds=folds,
        propensities=propensities, how=how, clip=clip, safe=safe, baseline=baseline, settings=settings,
        grids=grids, search=search, seed=seed, seeds=seeds, out=out, force=force, jobs=jobs,
    ).carry_out(observer or Observer(), command)  # fmt: skip


def plan_clicks(
    groups: QueryGroups, log: ClickLog, methods: object = CLICK_METHODS, *, measure: str | Measure = "DCG@10",
    grades: str | Measure = "nDCG@10", split: str = "queries", folds: int = FOLDS,
    propensities: Propensities | None = None, how: str | None = None, clip: float = 0.0,
    safe: Ranker | None = None, baseline: str | None = None, seed: int = 0, **options: Any,
) -> ScoredPlan:  # fmt: skip
    """Return the plan of `compare_clicks`; train and write nothing.

    Parameters
    ----------
    groups, log, methods, measure, grades, split, folds, propensities, how, clip, safe, baseline, seed
        As of `compare_clicks`.
    **options
        Others of `compare_clicks`, and options of `directrank.compare` that are not about grades.

    Returns
    -------
    ScoredPlan
    """
    check_choice("split", split, SPLITS)
    groups, by = _with_names(groups), click_measure(measure)
    log, names = log.of_queries(np.isin(log.qid, groups.qid.astype(str))), groups.qid.astype(str)
    how, unseen = how or default_how(groups, log), never_shown(groups, log)
    chooses = any(len(values) > 1 for values in (options.get("grids") or {}).values())
    divisions, tested = _divided(log, split, folds, seed, chooses=chooses)
    final = (propensities or estimate_propensities(tested)).require_identified()
    judged = {"measure": by, "how": how if how in EVALUATED else "dr", "clip": clip}
    data = LogFolds(groups, {}, Earnings.of(tested, final, documents=_of(groups, tested.qid), **judged))
    scored = []
    for name, train, vali, together, queries in divisions:
        p = propensities or estimate_propensities(together, test=False).require_identified()
        whole = TrainingPart(groups, together, p, by, how, clip)
        choosing = train if vali is None else vali
        data.folds[name] = LogFold(
            whole if vali is None else replace(whole, log=train),
            whole,
            None if vali is None else Earnings.of(vali, p, documents=_of(groups, vali.qid), **judged),
            *(np.isin(names, qid) for qid in (choosing.qid, queries)),
        )
        digest = _digest(groups, [train, choosing, tested], [p, final], [by, how, clip, *queries.tolist()])
        scored.append(ScoredFold(name, digest, *(_of(groups, q) for q in (train.qid, choosing.qid, queries))))
    pieces = split_specs(methods) if isinstance(methods, str) else list(methods)  # pyright: ignore
    chosen = [
        one for piece in pieces for one in ([piece] if piece in [*UNBIASED] else click_methods(piece, by))
    ]
    rows = data.rows(chosen, safe, UNSEEN_WAYS.get(how) if unseen else None)
    check_baseline(baseline, [SHOWN, *(row.label for row in rows)])
    n_seeds = len(set(options.get("seeds") or [seed]))
    lines = [
        _scope(log, tested, split, folds, final, propensities is not None),
        *[f"parameters chosen by {by.name.removeprefix('Click')} on a part of each training log"] * chooses,
        *[f"means of {n_seeds} seeds"] * (n_seeds > 1),
        *[f"{unseen:.1%} of documents were never shown"] * (unseen > 0),
        *filter(None, [Pages.of(tested, by).cut_line(by)]),
    ]
    test = partial(_tested, data, baseline if baseline != SHOWN else None, by, grades, final, lines)
    return plan_scored(
        groups, scored, rows, data.values, test, select_by=by, measures=[by], seed=seed, **options
    )


def _tested(
    data: LogFolds, baseline: str | None, measure: Measure, grades: str | Measure,
    propensities: Propensities, lines: Sequence[str],
    by_fold: Mapping[str, Mapping[str, Sequence[np.ndarray]]],
) -> JSONObject:  # fmt: skip
    """Return the rows of a comparison and the lines about them, from scores by row, fold and seed."""
    ranked = np.isin(data.groups.qid.astype(str), data.tested.log.qid)
    scores = {SHOWN: [_logged_order(data.tested.log, data.groups)]}
    for name, of_folds in by_fold.items():
        scores[name] = [np.full(data.groups.n_docs, -np.inf) for _ in next(iter(of_folds.values()))]
        for fold, of_seeds in of_folds.items():
            for whole, part in zip(scores[name], of_seeds, strict=True):
                whole[data.folds[fold].test_rows] = part
    rankings = {
        name: [data.ranking(ranked, values[ranked]) for values in of_seeds]
        for name, of_seeds in scores.items()
    }
    rows = data.tested.differences({**rankings, SHOWN: None}, baseline)
    by_grades = _by_grades(data.groups, ranked, scores, grades)
    better = "; ".join(row.name for row in rows if row.is_better) or "none"
    return {
        "measure": measure.name.removeprefix("Click"),
        "grades_measure": parse_measure(grades).name if by_grades else "",
        "baseline": baseline or SHOWN,
        "rows": [{**row.to_dict(), **by_grades.get(row.name, {})} for row in rows],
        "propensities": propensities.to_dict(),
        "lines": [
            *lines,
            *(f"{row.name}: WARNING: {flag}" for row in rows for flag in row.flags()),
            f"Better than {baseline or SHOWN} for new queries, the interval being above 0: {better}.",
            DISAGREE,
        ],
    }


def _with_names(groups: QueryGroups) -> QueryGroups:
    """Return documents with the names that logs call them by, which a part of them keeps."""
    if groups.docid is not None:
        return groups
    result = QueryGroups(
        groups.X, groups.relevance if groups.labelled else None, groups.qid, docid=document_names(groups),
        feature_names=groups.feature_names, name=groups.name, categories=groups.categories,
    )  # fmt: skip
    result.encoding = groups.encoding
    return result


def _of(groups: QueryGroups, queries: np.ndarray) -> QueryGroups:
    """Return the documents of some queries."""
    return groups.select(np.isin(groups.queries.qid.astype(str), queries))


class Division(NamedTuple):
    """A fold of a log: its name, parts that train, choose, and do both, and the names of tested queries."""

    name: str
    train: ClickLog
    vali: ClickLog | None
    together: ClickLog
    queries: np.ndarray


def _divided(
    log: ClickLog, split: str, folds: int, seed: int, *, chooses: bool
) -> tuple[list[Division], ClickLog]:
    """Return the folds of a log, with validation parts if something is chosen, and the log to test on."""
    if split == "time":
        together, tested = _last_days(log, folds)
        train, vali = _last_days(together, folds) if chooses else (together, None)
        return [Division("time", train, vali, together, tested.qid)], tested
    if not 2 + chooses <= folds <= log.n_queries:
        raise DataError(
            f"{log.source}: {folds} folds of {log.n_queries} queries; expected {2 + chooses} folds or more, "
            "with a query each"
        )
    fold, divisions = np.random.default_rng(seed).permutation(log.n_queries) % folds, []
    for k in range(folds):
        together, queries = log.of_queries(fold != k), log.qid[fold == k]
        after = (k + 1) % folds
        train, vali = (
            (log.of_queries((fold != k) & (fold != after)), log.of_queries(fold == after))
            if chooses
            else (together, None)
        )
        divisions.append(Division(f"Fold{k + 1}", train, vali, together, queries))
    return divisions, log


def _last_days(log: ClickLog, parts: int) -> tuple[ClickLog, ClickLog]:
    """Return the first days of a log, and the last ones with one of some parts of its impressions."""
    days = np.bincount(log.context, log.impressions, len(log.contexts))
    if np.count_nonzero(days) < 2:
        raise DataError(
            f"{log.source}: a split by time needs two days or more, three to choose parameters; the log has "
            f"{np.count_nonzero(days)} to divide"
        )
    # Names of days are in order. The first day that begins the last part of impressions, or the last day.
    before, last = np.cumsum(days) - days, int(np.flatnonzero(days)[-1])
    first = min(int(np.argmax(before >= (1.0 - 1.0 / parts) * days.sum()) or last), last)
    return log.of_cells(log.context < first), log.of_cells(log.context >= first)


def _digest(
    groups: QueryGroups, logs: Sequence[ClickLog], curves: Sequence[Propensities], facts: Sequence[Any]
) -> str:
    """Return the digest of all that decides what is learned and measured, but the rows and the code."""
    names = [groups.qid, document_names(groups), *(names for log in logs for names in (log.qid, log.docid))]
    digest = sha256(repr([facts, *(values.tolist() for values in names)]).encode())
    arrays = [groups.X, *(array for p in curves for array in (p.propensity, p.offset, p.covariance))]
    for log in logs:
        arrays += [log.query, log.item, log.rank, log.ranker, log.context, log.slot]
        arrays += [log.impressions, log.clicks]
    for array in arrays:
        if array is not None:
            digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _scope(
    log: ClickLog, tested: ClickLog, split: str, folds: int, propensities: Propensities, outside: bool
) -> str:
    if split == "queries":
        line = f"{folds} folds of {log.n_queries:,} queries, each ranked by models of the other folds"
    else:
        line = f"trained before {tested.contexts[tested.context.min()]}, and tested from this day on"
    line += f"; {tested.pages().sum():,.0f} answers with {tested.clicks.sum():,} clicks"
    if not outside:
        return f"{line}; propensities of the tested log, whose errors the intervals carry"
    agrees = float("nan") if propensities.offset is not None else agreement_with(tested, propensities)
    doubt = " WARNING: the log contradicts them" if agrees < ALARM else ""
    return f"{line}; propensities of a file{doubt}"


def _logged_order(log: ClickLog, groups: QueryGroups) -> np.ndarray:
    """Return scores that order documents by their mean rank in a log, those never shown last."""
    n = log.sums(log.impressions)
    mean = np.where(n > 0, log.sums(log.impressions * log.rank) / np.maximum(n, 1), log.n_ranks + 1.0)
    # The place of what the log does not have is -1.
    return -np.append(mean, log.n_ranks + 1.0)[places_of(log, groups.qid, document_names(groups))]


def _by_grades(
    groups: QueryGroups, ranked: np.ndarray, scores: Mapping[str, Sequence[np.ndarray]],
    measure: str | Measure,
) -> dict[str, JSONObject]:  # fmt: skip
    """Return the measure on grades, and its difference to the order shown; nothing without grades.

    Of several scores of a row, such as those of seeds, the mean counts.
    """
    graded = groups.select_documents(ranked)
    if not groups.labelled or not graded.queries.max_relevance > 0:
        return {}
    values: dict[str, np.ndarray] = {}
    for name, of_seeds in scores.items():
        evaluated = [evaluate(graded, one[ranked], measures=measure, per_query=True) for one in of_seeds]
        values[name] = np.mean([next(iter((one.per_query or {}).values())) for one in evaluated], axis=0)
    rows = {}
    for name, column in values.items():
        change = column - values[SHOWN]
        width = float(t.ppf(0.975, max(len(change) - 1, 1)) * change.std(ddof=1) / len(change) ** 0.5)
        mean = float(change.mean())
        rows[name] = {
            "grades": float(column.mean()),
            "grades_difference": mean,
            "grades_interval": (mean - width, mean + width),
        }
    return rows

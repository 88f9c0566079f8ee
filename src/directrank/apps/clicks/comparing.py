"""Methods that learn from one log, compared by it on queries or days that they did not see."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from directrank.apps.clicks.counterfactual import (
    EVALUATED,
    Difference,
    check_baseline,
    click_measure,
    default_how,
    ends,
    evaluate_clicks,
    label_clicks,
    never_shown,
    places_of,
)
from directrank.apps.clicks.logs import ClickLog
from directrank.apps.clicks.pages import Pages
from directrank.apps.clicks.propensities import ALARM, Propensities, agreement_with, estimate_propensities
from directrank.apps.clicks.safety import safe_ranker
from directrank.apps.experiments import environment, stored_arrays
from directrank.apps.experiments.results.tables import aligned, csv_text
from directrank.contracts import Measure
from directrank.data import QueryGroups, RealLabels
from directrank.errors import DataError, check_choice
from directrank.estimators import Ranker, RankSVM
from directrank.estimators.methods import Configured, configured
from directrank.files import document_names
from directrank.measures import evaluate, parse_measure
from directrank.measures.names import split_specs
from directrank.models import take_apart
from directrank.storage.atomic import write_atomically
from directrank.storage.folders import claim_folder
from directrank.storage.strict_json import JSONObject, as_plain, signed

#: What is trained if no method is named.
CLICK_METHODS = "coordinate-ascent,lambdaloss,ranksvm"
#: How test sets are made, and rows that are always there.
SPLITS = ("queries", "time")
SHOWN = "the order shown"
NAIVE, POSITION, SAFE = "clicks as labels", "position as a feature", ", safe"
#: Rows that treat documents that were never shown in another way, by how their clicks become labels.
UNSEEN_ROWS = {"dr": ("shown", "shown documents alone"), "shown": ("policy", "never shown as 0")}
#: Grades of LightGBM that stand for click rates, and the rounds of its and XGBoost's trees.
LEVELS, ROUNDS = 31, 200
DISAGREE = (
    "Annotators and clicks may disagree: on Baidu-ULTR, methods that predict clicks better agree with "
    "experts no better than clicks as labels do (Hager et al., SIGIR 2024). Judge by the goal that you have."
)


@dataclass(frozen=True)
class ComparedRow(Difference):
    """A method in a comparison by clicks: its measure by them, less that of the baseline; and on grades.

    Attributes
    ----------
    grades : float or None
        The mean of the measure on grades, where there are some.
    grades_difference, grades_interval : float and tuple of float, or None
        The paired difference to the order shown, with its 95 % interval over queries.
    """

    grades: float | None = None
    grades_difference: float | None = None
    grades_interval: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class ClickComparison:
    """What `compare_clicks` finds.

    Attributes
    ----------
    measure, grades_measure : str
        By clicks, and on grades; the latter empty without grades.
    baseline : str
    rows : list of ComparedRow
    propensities : Propensities
        Of the log that the rows are tested on, whose errors the intervals carry.
    lines : list of str
        What was compared, and what makes figures doubtful.
    seed : int
    command : sequence of str
        The command line, if there was one.
    """

    measure: str
    grades_measure: str
    baseline: str
    rows: list[ComparedRow]
    propensities: Propensities
    lines: list[str]
    seed: int = 0
    command: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """The headings of `table`."""
        by_grades = [self.grades_measure, "difference", "interval"] if self.grades_measure else []
        return [
            "method", self.measure, "difference", "for these queries", "for new queries", NAIVE, "gate",
            *by_grades,
        ]  # fmt: skip

    def table(self) -> list[list[str]]:
        """Return a row of text for each method."""
        return [
            [
                row.name, f"{row.value:.4f}", f"{row.difference:+.4f}", ends(row.by_sessions),
                ends(row.by_queries), f"{row.naive:+.4f}", "better" if row.is_better else "",
                *([] if row.grades is None or row.grades_difference is None or row.grades_interval is None
                  else [f"{row.grades:.4f}", f"{row.grades_difference:+.4f}", ends(row.grades_interval)]),
            ]
            for row in self.rows
        ]  # fmt: skip

    def to_dict(self) -> JSONObject:
        """Return what JSON holds."""
        return {
            "measure": self.measure, "grades_measure": self.grades_measure or None,
            "baseline": self.baseline, "rows": [row.to_dict() for row in self.rows],
            "propensities": self.propensities.to_dict(),
            "lines": self.lines, "seed": self.seed, "command": [*self.command],
        }  # fmt: skip

    def write(self, folder: str | Path) -> None:
        """Write ``results.json``, which is signed, ``results.csv`` and ``table.txt`` into a folder."""
        folder, table = Path(folder), self.table()
        written = datetime.now(UTC).isoformat(timespec="seconds")
        content = {**self.to_dict(), "environment": environment(), "written": written}
        write_atomically(folder / "results.json", signed(as_plain(content)))
        write_atomically(folder / "results.csv", csv_text(self.columns, table))
        lines = [*aligned([self.columns, *table]), "", *self.lines]
        write_atomically(folder / "table.txt", "\n".join(lines) + "\n")


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """What a row is trained on: documents, a part of the log, its propensities, and the measure.

    `tested` says which documents its scores are for, and `n_threads` how many threads it may use.
    """

    groups: QueryGroups
    tested: np.ndarray
    log: ClickLog
    propensities: Propensities
    measure: Measure
    how: str
    clip: float
    seed: int
    n_threads: int | None

    def scores(self, method: Configured, how: str) -> np.ndarray:
        """Return the scores of all documents by a method that is fitted to the labels of clicks."""
        if how not in self._labels:
            propensities = None if how == "naive" else self.propensities
            self._labels[how] = label_clicks(self.groups, self.log, propensities, how=how, clip=self.clip)
        labelled, pages = self._labels[how]
        return self.built(method).fit(labelled, sample_weight=pages).predict(self.groups)

    def safe_scores(self, method: Configured, logging: Ranker) -> np.ndarray:
        """Return the scores of all documents by what `safe_ranker` lets through."""
        return safe_ranker(
            self.built(method), logging, self.groups, self.log, self.propensities, measure=self.measure,
            how=self.how, clip=self.clip, seed=self.seed,
        ).ranker.predict(self.groups)  # fmt: skip

    def built(self, method: Configured) -> Ranker:
        """Return an unfitted ranker; pairs weigh as the labels of clicks differ."""
        ranker = method.build(random_state=self.seed)
        if self.n_threads is not None:
            ranker.set_params(n_jobs=self.n_threads)
        return ranker.set_params(weight="difference") if isinstance(ranker, RankSVM) else ranker

    @cached_property
    def _labels(self) -> dict[str, tuple[QueryGroups, np.ndarray]]:
        return {}

    @cached_property
    def digest(self) -> str:
        """The digest of all that decides what is learned, but the method and the code."""
        log, p, names = self.log, self.propensities, (self.groups.qid, document_names(self.groups))
        names = [values.tolist() for values in (*names, log.qid[log.query], log.docid)]
        digest = sha256(repr([self.measure, self.how, self.clip, self.seed, names]).encode())
        arrays = [self.groups.X, log.item, log.rank, log.ranker, log.context, log.impressions, log.clicks]
        for array in (*arrays, self.tested, log.slot, p.propensity, p.offset, p.covariance):
            if array is not None:
                digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def compare_clicks(
    groups: QueryGroups, log: ClickLog, methods: object = CLICK_METHODS, *, measure: str | Measure = "DCG@10",
    grades: str | Measure = "nDCG@10", split: str = "queries", folds: int = 5,
    propensities: Propensities | None = None, how: str | None = None, clip: float = 0.0,
    safe: Ranker | None = None, baseline: str | None = None, seed: int = 0,
    out: str | Path | None = None, force: bool = False, jobs: int = 1,
    observe: Callable[[str], None] = lambda _: None, command: Sequence[str] = (),
) -> ClickComparison:  # fmt: skip
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
    seed : int, default=0
    out : path, optional
        A folder for results. Rankings are saved there at once: the same comparison reuses them.
    force : bool, default=False
        Whether the folder may hold other files.
    jobs : int, default=1
        Processes, of one thread each, that share the training. Results do not depend on it.
    observe : callable, optional
        Receives what is trained.
    command : sequence of str, optional
        The command line, recorded with the results.

    Returns
    -------
    ClickComparison

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
    >>> [row.name for row in result.rows]
    ['the order shown', 'regression', 'regression, clicks as labels', 'regression, position as a feature']
    """
    check_choice("split", split, SPLITS)
    target_measure = click_measure(measure)
    groups = _named(groups)
    log = log.of_queries(np.isin(log.qid, groups.qid.astype(str)))
    how, unseen = how or default_how(groups, log), never_shown(groups, log)
    rows = _rows(methods, target_measure, safe, UNSEEN_ROWS.get(how) if unseen else None)
    check_baseline(baseline, [SHOWN, *(row.name for row in rows)])
    divided, tested = _parts(log, split, folds, seed)
    final = (propensities or estimate_propensities(tested)).require_identified()
    if out is not None:
        claim_folder(out, force=force)
    qid = groups.qid.astype(str)
    parts = [
        TrainingPart(
            groups, np.isin(qid, queries), train,
            propensities or estimate_propensities(train, test=False).require_identified(),
            target_measure, how, clip, seed, None if jobs == 1 else 1,
        )
        for train, queries in divided
    ]  # fmt: skip
    scores = {row.name: np.full(groups.n_docs, -np.inf) for row in rows}
    steps = {
        (number, place): (
            f"{row.name}, part {number + 1} of {len(parts)}",
            [row.name, row.settings, part.digest],
        )
        for number, part in enumerate(parts)
        for place, row in enumerate(rows)
    }
    learned = stored_arrays(_learner, (parts, rows), steps, folder=out, jobs=jobs, observe=observe)
    for (number, place), values in learned:
        scores[rows[place].name][parts[number].tested] = values
    ranked = np.isin(qid, tested.qid)
    part = groups.select(np.isin(groups.queries.qid.astype(str), tested.qid))
    scores = {SHOWN: _logged_order(tested, groups), **scores}
    rankings: JSONObject = {
        name: (qid[ranked], document_names(groups)[ranked], values[ranked]) for name, values in scores.items()
    }
    differences = evaluate_clicks(
        tested, final, {**rankings, SHOWN: None}, measure=target_measure,
        baseline=None if baseline == SHOWN else baseline, how=how if how in EVALUATED else "dr",
        clip=clip, documents=part,
    )  # fmt: skip
    by_grades = _by_grades(part, {name: values[ranked] for name, values in scores.items()}, grades)
    lines = [_scope(log, tested, split, folds, final, propensities is not None)]
    lines += [f"{unseen:.1%} of documents were never shown"] * (unseen > 0)
    lines += filter(None, [Pages.of(tested, target_measure).cut_line(target_measure)])
    lines += [f"{row.name}: WARNING: {flag}" for row in differences for flag in row.flags()]
    better = [row.name for row in differences if row.is_better]
    lines.append(
        f"Better than {baseline or SHOWN} for new queries, the interval being above 0: "
        f"{'; '.join(better) or 'none'}."
    )
    lines.append(DISAGREE)
    compared = [ComparedRow(**vars(row), **by_grades.get(row.name, {})) for row in differences]
    grade_measure = parse_measure(grades).name if by_grades else ""
    result = ClickComparison(
        parse_measure(measure).name, grade_measure, baseline or SHOWN, compared, final, lines, seed, command
    )
    if out is not None:
        result.write(out)
    return result


def _named(groups: QueryGroups) -> QueryGroups:
    """Return documents with the names that logs call them by, which a part of them keeps."""
    if groups.docid is not None:
        return groups
    named = QueryGroups(
        groups.X, groups.relevance if groups.labelled else None, groups.qid, docid=document_names(groups),
        feature_names=groups.feature_names, name=groups.name, categories=groups.categories,
    )  # fmt: skip
    named.encoding = groups.encoding
    return named


def _parts(
    log: ClickLog, split: str, folds: int, seed: int
) -> tuple[list[tuple[ClickLog, np.ndarray]], ClickLog]:
    """Return logs to train on, each with the queries that it ranks, and the log to test on."""
    if split == "queries":
        if not 2 <= folds <= log.n_queries:
            raise DataError(
                f"{log.source}: {folds} folds of {log.n_queries} queries; expected 2 folds or more, with a "
                "query each"
            )
        fold = np.random.default_rng(seed).permutation(log.n_queries) % folds
        return [(log.of_queries(fold != k), log.qid[fold == k]) for k in range(folds)], log
    days = np.bincount(log.context, log.impressions, len(log.contexts))
    if np.count_nonzero(days) < 2:
        raise DataError(f"{log.source}: a split by time needs two days or more; the log has {len(days)}")
    # Names of days are in order. The first day that begins the last part of impressions, or the last day.
    before = np.cumsum(days) - days
    first = min(int(np.argmax(before >= (1.0 - 1.0 / folds) * days.sum()) or len(days) - 1), len(days) - 1)
    tested = log.of_cells(log.context >= first)
    return [(log.of_cells(log.context < first), tested.qid)], tested


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
    mean = log.sums(log.impressions * log.rank) / log.sums(log.impressions)
    item = places_of(log, groups.qid, document_names(groups))
    return np.where(item >= 0, -mean[item], -(log.n_ranks + 1.0))


def _by_grades(
    groups: QueryGroups, scores: Mapping[str, np.ndarray], measure: str | Measure
) -> dict[str, JSONObject]:
    """Return the measure on grades, and its difference to the order shown; nothing without grades."""
    if not groups.labelled or not groups.queries.max_relevance > 0:
        return {}
    rows, base = {}, np.zeros(0)
    for name, values in scores.items():
        per_query = evaluate(groups, values, measures=measure, per_query=True).per_query
        (column,) = (np.asarray(of_queries, float) for of_queries in (per_query or {}).values())
        base = base if len(base) else column
        change = column - base
        width = t.ppf(0.975, max(len(change) - 1, 1)) * change.std(ddof=1) / len(change) ** 0.5
        mean = float(change.mean())
        rows[name] = {
            "grades": float(column.mean()),
            "grades_difference": mean,
            "grades_interval": (mean - float(width), mean + float(width)),
        }
    return rows


def click_methods(method: Any, measure: str | Measure = "DCG@10") -> list[Configured]:
    """Return the methods of a name or an object, which train for the measure unless the name fixes one.

    Parameters
    ----------
    method : str, Method, Ranker or Surrogate
    measure : str or Measure, default="DCG@10"
        DCG (gains are linear), P or RBP.
    """
    by = click_measure(measure)
    return [
        configured(f"{variant.method.name}({by.name})", by)[0]
        if variant.method.takes_measure and isinstance(method, str) and "(" not in method
        else variant
        for variant in configured([method], by)
    ]


class Row(NamedTuple):
    """A row: its name, what is set, and from a part of the log to scores of all documents."""

    name: str
    settings: str
    learn: Callable[[TrainingPart], np.ndarray]


def _rows(methods: Any, measure: Measure, safe: Ranker | None, unseen: tuple[str, str] | None) -> list[Row]:
    pieces = split_specs(methods) if isinstance(methods, str) else list(methods)
    ours = [
        method for piece in pieces if piece not in [*UNBIASED] for method in click_methods(piece, measure)
    ]
    with_labels = ours or click_methods("regression", measure)
    kinds: list[tuple[str, Callable[[Configured, TrainingPart], np.ndarray], list[Configured]]] = [
        ("", lambda method, part: part.scores(method, part.how), ours),
        (f", {NAIVE}", lambda method, part: part.scores(method, "naive"), with_labels),
    ]
    if unseen is not None:
        how, name = unseen
        kinds.append((f", {name}", lambda method, part: part.scores(method, how), ours))
    if safe is not None:
        kinds.append((SAFE, lambda method, part: part.safe_scores(method, safe), ours))
    kinds.append((f", {POSITION}", _by_position, with_labels[:1]))
    logging = "" if safe is None else sha256(repr(as_plain(take_apart(safe.scorer_))).encode()).hexdigest()
    rows = [
        Row(
            f"{method.label}{kind}",
            f"{method.method.fixed!r}{logging * (kind == SAFE)}",
            partial(learn, method),
        )
        for kind, learn, methods_of_kind in kinds
        for method in methods_of_kind
    ]
    return rows + [Row(name, "", learn) for name, learn in UNBIASED.items() if name in pieces]


def _learner(parts: Sequence[TrainingPart], rows: Sequence[Row]) -> Callable[[tuple[int, int]], np.ndarray]:
    """Return what learns from a part, by its number, a row, by its place, and scores the tested documents."""
    return lambda step: rows[step[1]].learn(parts[step[0]])[parts[step[0]].tested]


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


def _by_position(method: Configured, part: TrainingPart) -> np.ndarray:
    """Return scores by click rates of impressions with 1/rank as a feature, which is 1 when serving."""
    groups, rows = part.groups, _Impressions.of(part)
    names = None if groups.feature_names is None else [*groups.feature_names, POSITION]
    facts: Any = {"feature_names": names, "categories": groups.categories}
    X = np.column_stack((groups.X[rows.row], 1.0 / rows.rank))
    seen = QueryGroups(X, RealLabels(rows.rate), rows.page, **facts)
    ranker = part.built(method).fit(seen, sample_weight=rows.answers)
    top = np.column_stack((groups.X, np.ones(groups.n_docs)))
    return ranker.predict(QueryGroups(top, None, groups.qid, **facts))


def _lightgbm(part: TrainingPart) -> np.ndarray:
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
        "seed": part.seed, "deterministic": True, "num_threads": 1,
    }  # fmt: skip
    return np.asarray(lightgbm.train(settings, data, ROUNDS).predict(X))


def _xgboost(part: TrainingPart) -> np.ndarray:
    """Return the scores of XGBoost's unbiased lambdarank, whose rows are in the order that was shown."""
    import xgboost

    rows, X = _Impressions.of(part), part.groups.X
    ranker = xgboost.XGBRanker(
        objective="rank:ndcg", lambdarank_unbiased=True, ndcg_exp_gain=False, learning_rate=0.05,
        n_estimators=ROUNDS, random_state=part.seed, n_jobs=1,
    )  # fmt: skip
    ranker.fit(X[rows.row], rows.rate, qid=rows.page, sample_weight=rows.answers / rows.answers.mean())
    return ranker.predict(X)


#: Methods of other libraries that read positions: LightGBM's position bias, XGBoost's unbiased lambdarank.
UNBIASED: dict[str, Callable[[TrainingPart], np.ndarray]] = {
    "lightgbm:position": _lightgbm,
    "xgboost:unbiased": _xgboost,
}

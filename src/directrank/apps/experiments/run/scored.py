"""Comparisons whose rows something else than grades measures and tests, such as a log of clicks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from directrank.apps.experiments.options import STANDARD, Options
from directrank.apps.experiments.plan.entries import overridden
from directrank.apps.experiments.plan.entry import Entry, Learned, MethodEntry, Task, tree_libraries
from directrank.apps.experiments.plan.external_estimators import External
from directrank.apps.experiments.plan.plan import Observer, Plan, make_plan
from directrank.apps.experiments.plan.sources import FoldSource, Splits
from directrank.apps.experiments.results.comparison import Comparison
from directrank.apps.experiments.run.protocol import carry_out_scores
from directrank.apps.experiments.store.records import ComparedByClicks, Earned, Measured
from directrank.apps.experiments.store.store import Store
from directrank.data import QueryGroups
from directrank.estimators.methods import Configured
from directrank.estimators.parameters import Parameters, Point
from directrank.storage.names import printable
from directrank.storage.strict_json import JSONObject, Plain, as_plain

#: From a fold, "vali" or "test", and scores of its documents: names of queries, their values, and the mean.
Values = Callable[[str, str, np.ndarray], tuple[np.ndarray, np.ndarray, float]]
#: From a fold, an unfitted ranker, a seed, and whether both training and validation set train: scores of the
#: validation set, None where nothing is chosen, and of the test set.
Learn = Callable[[str, Any, int, bool], tuple[np.ndarray | None, np.ndarray]]
#: Scores of test sets by row, fold and seed.
Scores = Mapping[str, Mapping[str, Sequence[np.ndarray]]]


@dataclass(frozen=True, eq=False)
class ScoredFold:
    """A fold of a comparison whose rows something else than grades measures.

    Attributes
    ----------
    name : str
    digest : str
        Of all that decides what rows learn and how they are measured, but the rows.
    train, vali, test : QueryGroups
        Documents, whose numbers the page states.
    """

    name: str
    digest: str
    train: QueryGroups
    vali: QueryGroups
    test: QueryGroups


@dataclass(frozen=True, eq=False)
class ScoredRow:
    """A row of such a comparison: a method, or a rule of another library, and how it learns.

    Attributes
    ----------
    label : str
    learn : callable
        From the name of a fold, an unfitted ranker (None without a method), a seed, and whether validation
        queries train, too, to the scores of the validation set, or None, and of the test set.
    method : Configured, optional
    facts : str
        What decides scores beside the method, the fold and the code.
    """

    label: str
    learn: Learn
    method: Configured | None = None
    facts: str = ""


@dataclass(frozen=True, eq=False)
class ScoredPlan:
    """The plan of such a comparison, before anything is trained.

    Attributes
    ----------
    plan : Plan
        Its fits and cells.
    store : Store
    test : callable
        From the scores of test sets, by row, fold and seed, to the fields of the results.
    """

    plan: Plan
    store: Store
    test: Callable[[Scores], JSONObject]

    def carry_out(self, observer: Observer, command: Sequence[str] = ()) -> Comparison:
        """Train what is not finished, test all rows, and write the files of results.

        Parameters
        ----------
        observer : Observer
            Receives progress.
        command : sequence of str, optional
            The command line, recorded with the results.

        Returns
        -------
        Comparison
        """
        content, scores = carry_out_scores(self.plan, self.store, observer, command)
        facts = self.test(scores)
        rows = [Earned(**row) for row in facts.pop("rows")]
        result = Comparison(ComparedByClicks(**vars(content), **as_plain(facts), rows=rows))
        if self.plan.options.out is not None:
            result.write(self.plan.options.out)
        return result


def plan_scored(
    groups: QueryGroups,
    folds: Sequence[ScoredFold],
    rows: Sequence[ScoredRow],
    values: Values,
    test: Callable[[Scores], JSONObject],
    **options: Any,
) -> ScoredPlan:
    """Return the plan of a comparison whose rows something else than grades measures.

    Parameters
    ----------
    groups : QueryGroups
        All documents.
    folds : sequence of ScoredFold
    rows : sequence of ScoredRow
    values : callable
        From the name of a fold, ``"vali"`` or ``"test"``, and scores of that set, to the names of its
        queries, the value of each, and their mean. That of the validation set chooses the points of grids.
    test : callable
        From the scores of test sets, by row, fold and seed, to the fields of the results.
    **options
        As of `directrank.compare`. A parameter has its default unless `grids` names values.

    Returns
    -------
    ScoredPlan
        Models are trained again on training and validation set where `grids` are searched.
    """
    chosen = Options(**options)
    name, store = printable(chosen.name or groups.name or "documents"), Store(chosen.out)
    chosen = replace(chosen, refit=any(len(values) > 1 for values in (chosen.grids or {}).values()))
    measuring = _Measuring(chosen.select_by.name, values)
    entries: list[Entry] = [_entry(row, measuring) for row in rows]
    methods = [entry for entry in entries if isinstance(entry, _Method)]
    changed = {entry.label: entry for entry in overridden(methods, chosen.settings or {}, chosen.grids or {})}
    for method in changed.values():
        for point in method.points():
            method.check(point)
    sources = [
        FoldSource(
            fold.name, dict.fromkeys(("train", "vali", "test"), fold.digest), {},
            partial(Splits, fold.train, fold.vali, fold.test), judged=False,
        )
        for fold in folds
    ]  # fmt: skip
    plan = make_plan(name, sources, [changed.get(entry.label, entry) for entry in entries], chosen, store)
    return ScoredPlan(plan, store, test)


@dataclass(frozen=True, eq=False)
class _Measuring:
    """Values of a function as those of a measure."""

    name: str
    values: Values

    def validation(self, fold: str, scores: np.ndarray) -> float:
        return self.values(fold, "vali", scores)[2]

    def measured(self, fold: str, scores: Mapping[str, np.ndarray]) -> Measured:
        qid, values, _ = self.values(fold, "test", scores["test"])
        means = {part: {self.name: self.values(fold, part, of_part)[2]} for part, of_part in scores.items()}
        return Measured(
            values={STANDARD: means}, per_query={STANDARD: {self.name: values.tolist()}},
            computed={STANDARD: {self.name: self.name}}, qid=qid.tolist(), ranked=[[] for _ in qid],
        )  # fmt: skip


def _entry(row: ScoredRow, measuring: _Measuring) -> Entry:
    if row.method is None:
        return _Rule(row.label, row, measuring, summary="another library's rule")
    facts = {**vars(row.method), "label": row.label, "method": replace(row.method.method, grid={})}
    return _Method(**facts, row=row, measuring=measuring)


@dataclass(frozen=True)
class _Method(MethodEntry):
    """A method whose scores are stored."""

    row: ScoredRow
    measuring: Any = field()
    stores_scores = True

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of the row, and of its method, which several rows may have."""
        assert self.row.method is not None
        return self.label, self.row.method.label

    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        return (*super().facts(fold, point, False), self.row.label, self.row.facts)

    def reads_select_by(self, parameters: Parameters) -> bool:
        return False

    def candidates(self, point: Parameters, measure: Any) -> list[tuple[Entry, Point]]:
        return []

    def learn(self, task: Task) -> Learned:
        ranker: Any = self.build(task.parameters, random_state=task.seed)
        if task.n_threads is not None and "n_jobs" not in {**self.method.fixed, **task.parameters}:
            ranker.set_params(n_jobs=task.n_threads)
        scores = self.row.learn(task.fold, ranker, task.seed, task.together is not None)
        return Learned.of(ranker, *scores)


@dataclass(frozen=True)
class _Rule(External):
    """A rule of another library, which the label names before a colon."""

    row: ScoredRow
    measuring: Any = field()

    def facts(self, fold: str, point: Parameters, chooses: bool) -> tuple[Plain, ...]:
        return self.row.label, self.row.facts

    def libraries(self) -> dict[str, str]:
        library = self.label.partition(":")[0]
        return {name: version for name, version in tree_libraries().items() if name.startswith(library)}

    def scored(self, task: Task) -> Learned:
        return Learned(*self.row.learn(task.fold, None, task.seed, task.together is not None))

"""Differences to the baseline by people's judgments of test queries, and a machine's of these and more."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.evaluation import evaluate, judged_mean
from directrank.apps.experiments.options import STANDARD, Options
from directrank.apps.experiments.plan.sources import Splits
from directrank.apps.experiments.store.records import Cell, JudgedDifference
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.files import read_file


def read_judge(options: Options, splits: Splits) -> QueryGroups:
    """Return the documents that a machine judged.

    Raises DataError if they have no judgments or no other queries than a fold, or lack features of it.
    """
    judge, train = options.judge, splits.train
    groups = judge if isinstance(judge, QueryGroups) else read_file(Path(judge), options.read_options())
    where = f"--judge {groups.name or 'documents'}"
    if not groups.labelled:
        raise DataError(f"{where}: there are no judgments in it")
    names = train.feature_names if train.encoding is None else train.encoding.columns
    if groups.feature_names is not None and names is not None:
        if absent := [name for name in names if name not in groups.feature_names]:
            raise DataError(f"{where}: it has no column {absent[0]!r}, which is a feature of the data")
    elif groups.n_features != train.n_features:
        raise DataError(f"{where}: {groups.n_features} features, and {train.n_features} in the training set")
    if not {*map(str, groups.queries.qid.tolist())} - queries_of(splits):
        raise DataError(f"{where}: all its queries are in the data; a judge helps by judging more queries")
    return groups


def queries_of(splits: Splits) -> set[str]:
    """Return the names of all queries of a fold."""
    return {str(qid) for part in splits for qid in part.queries.qid.tolist()}


def machine_values(judge: QueryGroups, rankers: Sequence[Any], options: Options) -> dict[str, np.ndarray]:
    """Return the values of the judge's queries by measure, (n_queries,), as means over rankers."""
    evaluated = [
        evaluate(judge, ranker.predict(judge), measures=options.measures, per_query=True).per_query or {}
        for ranker in rankers
    ]
    return {name: np.mean([values[name] for values in evaluated], axis=0) for name in evaluated[0]}


def judged_differences(
    judge: QueryGroups,
    queries: Mapping[str, set[str]],
    cells: Mapping[tuple[str, str], Cell],
    machine: Mapping[tuple[str, str], Mapping[str, np.ndarray]],
    options: Options,
) -> dict[str, list[JudgedDifference]]:
    """Return the mean difference of each method to the baseline, by measure.

    People's difference of a test query is paired with the machine's, both by the models of the query's fold.
    A query that the machine alone judged is ranked by the models of a fold that is drawn by its share of the
    test queries: so its difference is distributed as theirs.

    Parameters
    ----------
    judge : QueryGroups
    queries : mapping of fold to the names of all its queries
    cells, machine : mappings of fold and method to the record, and to values of the judge's queries
    options : Options

    Raises
    ------
    DataError
        If fewer than 3 test queries are judged by both, or none by the machine alone.
    """
    place = {str(qid): number for number, qid in enumerate(judge.queries.qid.tolist())}
    alone = [number for qid, number in place.items() if not any(qid in names for names in queries.values())]
    baseline, folds = options.baseline or "", [*queries]
    at = {fold: np.array([place.get(str(qid), -1) for qid in cells[fold, baseline].qid]) for fold in folds}
    sizes = np.array([np.count_nonzero(at[fold] >= 0) for fold in folds])
    if not sizes.sum():
        raise DataError(f"--judge {judge.name or 'documents'}: no test query is among its queries")
    drawn = np.random.default_rng(options.seed).choice(len(folds), len(alone), p=sizes / sizes.sum())
    results: dict[str, list[JudgedDifference]] = {}
    for method in dict.fromkeys(method for _, method in machine if method != baseline):
        for measure in machine[folds[0], method]:
            changes = [machine[fold, method][measure] - machine[fold, baseline][measure] for fold in folds]
            people = [
                _values(cells[fold, method], measure) - _values(cells[fold, baseline], measure)
                for fold in folds
            ]
            pairs = [
                (of_people[at[fold] >= 0], change[at[fold][at[fold] >= 0]])
                for fold, of_people, change in zip(folds, people, changes, strict=True)
            ]
            of_people, of_machine = map(np.concatenate, zip(*pairs, strict=True))
            more = np.stack(changes)[drawn, alone]
            both = np.isfinite(of_people) & np.isfinite(of_machine)
            result = judged_mean(of_people[both], of_machine[both], more[np.isfinite(more)])
            results.setdefault(measure, []).append(
                JudgedDifference(
                    method=method, baseline=baseline, queries=result.n_queries, more=result.n_more,
                    correlation=result.correlation, weight=result.weight, alone=result.alone,
                    assisted=result.assisted,
                )
            )  # fmt: skip
    return results


def _values(cell: Cell, measure: str) -> np.ndarray:
    return np.array(cell.per_query[STANDARD][measure], float)

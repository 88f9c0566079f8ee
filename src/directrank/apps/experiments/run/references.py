"""What there was before a comparison: the first stage, the best single feature, and the prior.

They are rows beside those of the methods, outside the family of tests: the winner alone is tested against
them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from directrank.apps.auto import CorrelationRanker
from directrank.apps.experiments.options import AUTO, NO_FIRST_STAGE, ORDER, Options
from directrank.apps.experiments.plan.sources import Splits
from directrank.apps.experiments.results.measured import Scored, measured_sets, sizes_of_sets
from directrank.apps.experiments.store.records import (
    BEST_FEATURE,
    FIRST_STAGE,
    PRIOR,
    Described,
    Ranking,
)
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.errors import DataError, MethodError
from directrank.measures import mean_values
from directrank.storage.names import printable

#: The feature of `directrank features` by which candidates are retrieved.
BM25 = "whole.bm25"
#: The single feature is chosen on training queries with about so many documents, spread evenly.
MOST_DOCUMENTS = 200_000


class Reference(NamedTuple):
    """A ranking that needs no method: what it is, and scores of the validation and the test set by row."""

    label: str
    summary: str
    vali: np.ndarray
    test: np.ndarray


def references_of(splits: Splits, fold: str, options: Options) -> list[tuple[Described, Ranking]]:
    """Return the rows of earlier rankings on a fold; one that cannot be computed is left out.

    Raises DataError if the first stage that the options name is no feature.
    """
    rows, parts = [], sizes_of_sets(splits._asdict())
    max_grade = max(split.queries.max_relevance for split in splits)
    for label, summary, vali, test in _rankings(splits, options):
        scored = {"vali": Scored(splits.vali, vali, None), "test": Scored(splits.test, test, None)}
        measured = measured_sets(
            scored, options.measures, options.conventions, max_grade=max_grade, diagnostics=False
        )
        row = Ranking(**vars(measured), fold=fold, method=label, measure=None, parts=parts, warnings=[])
        rows.append((Described.untrained(label, summary), row))
    return rows


def _rankings(splits: Splits, options: Options) -> Iterator[Reference]:
    names = [*map(str, splits.train.feature_names or range(1, splits.train.n_features + 1))]
    stage = options.first_stage
    if stage == AUTO:
        stage = BM25 if BM25 in names else NO_FIRST_STAGE
    if stage == ORDER:
        yield Reference(
            FIRST_STAGE,
            "the order in the file",
            *(-np.arange(split.n_docs, dtype=float) for split in splits[1:]),
        )
    elif stage != NO_FIRST_STAGE:
        if stage not in names:
            raise DataError(
                f"--first-stage {stage}: no feature is called so; expected one of {', '.join(names[:12])}"
                f"{', …' if len(names) > 12 else ''}; or {ORDER}, {NO_FIRST_STAGE}"
            )
        column = names.index(stage)
        scores = (_scores(split, column, 1.0, -np.inf) for split in splits[1:])
        yield Reference(FIRST_STAGE, f"the feature {printable(stage)}", *scores)
    try:
        column, sign, fill = best_feature(splits.train, options.select_by)
        scores = (_scores(split, column, sign, fill) for split in splits[1:])
        order = "the larger" if sign > 0 else "the smaller"
        summary = f"{order} the better: the feature of the highest training {options.select_by.name}"
        yield Reference(BEST_FEATURE, summary, *scores)
        prior = CorrelationRanker().fit(splits.train)
        summary = "features weighted by their mean correlation with the grade inside training queries"
        yield Reference(PRIOR, summary, *(prior.predict(split) for split in splits[1:]))
    except (DataError, MethodError):
        return  # Nothing can be learned from these queries, as the methods will say.


def best_feature(train: QueryGroups, measure: Measure) -> tuple[int, float, float]:
    """Return the feature that ranks training queries best, its direction, and what a missing value is."""
    step = -(-train.n_docs // MOST_DOCUMENTS)
    some = train if step <= 1 else train.select(np.arange(0, train.n_queries, step))
    values = []
    for column in range(some.n_features):
        feature = some.source.columns(column, column + 1)[:, 0].astype(np.float64)
        present = feature[~np.isnan(feature)]
        fill = float(np.median(present)) if len(present) else 0.0
        feature = np.nan_to_num(feature, nan=fill)
        for sign in (1.0, -1.0):
            values.append((mean_values([measure], some.queries, sign * feature)[0], column, sign, fill))
    # The first feature of equal ones.
    _, column, sign, fill = max(values, key=lambda choice: choice[0])
    return column, sign, fill


def _scores(groups: QueryGroups, column: int, sign: float, fill: float) -> np.ndarray:
    """Return a feature as scores in the caller's order; `-inf` stands for less than every value."""
    feature = groups.source.columns(column, column + 1)[:, 0].astype(np.float64)
    least = np.nanmin(feature, initial=0.0) - 1.0
    return groups.to_caller(sign * np.nan_to_num(feature, nan=least if fill == -np.inf else fill))

"""One cell of a comparison: from the fits of a method on a fold to the values on its test set."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.apps.experiments.options import Options
from directrank.apps.experiments.plan.entry import Entry
from directrank.apps.experiments.plan.fits import attempted, restored, scores_of
from directrank.apps.experiments.plan.sources import Splits
from directrank.apps.experiments.results.measured import Scored, measured_sets, sizes_of_sets, tops
from directrank.apps.experiments.store.records import (
    Above,
    Bound,
    Bounds,
    Cell,
    FailedCell,
    Failure,
    FitRecord,
    Measured,
    SeedRun,
    Tried,
    Weights,
)
from directrank.contracts import Measure
from directrank.data import QueryGroups
from directrank.diagnostics import audit_scores
from directrank.errors import DataError
from directrank.estimators.documents import names_of_features
from directrank.estimators.parameters import Parameters, Point
from directrank.measures import name_of
from directrank.scorers import contributions
from directrank.storage.names import printable
from directrank.storage.strict_json import encode
from directrank.timing import seconds_of_work

if TYPE_CHECKING:
    from directrank.apps.experiments.plan.plan import Plan, PlannedCell

#: The record has the coefficients of a linear model with at most this many, and the largest contributions.
MOST_WEIGHTS, MOST_ADDS = 2000, 3
#: The largest number of audited documents, in whole queries, none of which is longer than LONGEST.
AUDITED, LONGEST = 10_000, 1_000


def choice(fits: Sequence[FitRecord]) -> dict[int, FitRecord]:
    """Return the fit with the best validation value for each seed; the first of equal ones."""
    of_seeds = {fit.seed: [other for other in fits if other.seed == fit.seed] for fit in fits}
    return {seed: max(of_seed, key=lambda fit: fit.validation or 0.0) for seed, of_seed in of_seeds.items()}


def assemble(
    plan: "Plan",
    cell: "PlannedCell",
    splits: Splits,
    fits: Sequence[FitRecord | Failure],
    refits: Sequence[FitRecord | Failure] = (),
) -> Cell | FailedCell:
    """Choose by validation and score the test set; nothing else reads the relevance of the test set.

    A failed fit fails the cell, because the choice would not be among all points. The warnings of a cell are
    those of the points that were chosen; of a failed cell, those of all.
    """
    started, counts = seconds_of_work(), Counter()
    frame: Point = {
        "fold": cell.fold.name,
        "method": cell.method.label,
        "measure": name_of(cell.method.measure),
        "parts": sizes_of_sets(splits._asdict()),
    }
    fitted = [[fit for fit in stage if isinstance(fit, FitRecord)] for stage in (fits, refits)]
    failed = next((fit for fit in (*fits, *refits) if isinstance(fit, Failure)), None)
    for fit in (*fits, *refits) if failed else (*choice(fitted[0]).values(), *refits):
        counts.update(fit.warnings)
    outcome: Cell | Failure
    if failed is None:
        outcome, more = attempted(
            lambda: _tested(cell.method, splits, plan.options, fitted[0], fitted[1], frame)
        )
        counts.update(more)
    else:
        outcome = failed
    ended = {
        "warnings": [text + (f" ({count} times)" if count > 1 else "") for text, count in counts.items()],
        "seconds": math.fsum(fit.seconds for fit in (*fitted[0], *fitted[1])) + seconds_of_work() - started,
    }
    return (
        FailedCell(**frame, **ended, error=outcome.error)
        if isinstance(outcome, Failure)
        else replace(outcome, **ended)
    )


def _tested(
    method: Entry, splits: Splits, options: Options, fits: Sequence[FitRecord], refits: Sequence[FitRecord],
    frame: Parameters,
) -> Cell:  # fmt: skip
    chosen = choice(fits)
    tested = {fit.seed: fit for fit in refits} or chosen
    first = next(iter(chosen))
    fold = str(frame["fold"])
    rankings = {
        seed: _ranked_by(method, fold, splits, fit, tested[seed], options) for seed, fit in chosen.items()
    }
    means = {
        name: _mean_of([getattr(ranking, name) for ranking in rankings.values()])
        for name in ("values", "per_query", "curve")
    }
    cell = Cell(
        **{**vars(rankings[first]), **means},
        **frame,
        warnings=[],
        seconds=0.0,
        tried=list(map(Tried.like, fits)),
        chosen=chosen[first].parameters,
        validation=_mean_of([fit.validation for fit in chosen.values()]),
        fit_seconds=math.fsum(fit.seconds for fit in (*fits, *refits)),
        peak_memory=max(fit.peak_memory or 0 for fit in (*fits, *refits)) or None,
        training=tested[first].training,
        scaling=tested[first].scaling,
        weights=_weights(splits.train, method, tested[first]),
        seeds=[
            SeedRun(seed=seed, chosen=fit.parameters, validation=fit.validation, values=rankings[seed].values)
            for seed, fit in chosen.items()
        ],
    )
    # A record that is refused when it is read back would be made again for ever.
    return Cell.read(encode(cell))


def _weights(train: QueryGroups, method: Entry, fit: FitRecord) -> Weights | None:
    """Return the weight of each feature: coefficients, or of stumps and trees, importances."""
    if fit.state is None or train.n_features > MOST_WEIGHTS:
        return None
    scorer: Any = restored(fit, method).scorer_
    # The coefficients of boosted models belong to their rounds.
    importances = getattr(scorer, "feature_importances", None)
    values: Any = importances(train.n_features) if importances else getattr(scorer, "coefficients", ())
    if np.shape(values) != (train.n_features,):
        return None
    names = train.feature_names or [str(number) for number in range(1, train.n_features + 1)]
    kind = "coefficients" if importances is None else "importances"
    return Weights(features=list(map(printable, names)), **{kind: np.array(values, dtype=float).tolist()})


def _above(test: QueryGroups, scores: np.ndarray, ranker: Any) -> list[Above | None]:
    """Explain a pair of neighbours in each ranking: the first in the wrong order, or else the first two."""
    if test.n_features > MOST_WEIGHTS:
        return []
    names, queries = list(map(printable, test.feature_names or names_of_features(ranker))), test.queries
    pairs: list[Above | None] = []
    for start, order in tops(queries, scores):
        if len(order) < 2:
            pairs.append(None)
            continue
        at = int(np.argmax(np.diff(queries.relevance[start + order]) > 0))
        rows = queries.row[start : start + queries.sizes[len(pairs)]]
        upper, lower = order[at : at + 1], order[at + 1 : at + 2]
        try:
            adds = contributions(ranker.scorer_, test.X[rows], upper, lower, np.array([0, len(rows)]))[0]
        except DataError:  # weak rankers of another library
            return []
        one, other = scores[rows[[*upper, *lower]]].tolist()
        if not math.isclose(adds.sum(), one - other, rel_tol=1e-6, abs_tol=1e-6 * max(abs(one), abs(other))):
            return []  # a class of the user, which predicts otherwise than its scorer
        most = np.argsort(-np.abs(adds), kind="stable")[:MOST_ADDS]
        pairs.append(Above(rank=at + 1, adds=[(names[k], float(f"{adds[k]:.3g}")) for k in most if adds[k]]))
    return pairs


def _ranked_by(
    method: Entry, fold: str, splits: Splits, chosen: FitRecord, tested: FitRecord, options: Options
) -> Measured:
    scores_by_set = {
        "vali": scores_of(chosen, method, "vali", splits.vali),
        "test": scores_of(tested, method, "test", splits.test),
    }
    if method.measuring is not None:
        scores = {name: values for name, values in scores_by_set.items() if values is not None}
        return method.measuring.measured(fold, scores)
    is_external = tested.state is None
    # A run need not rank the validation set, nor hold every document.
    scored = {
        name: Scored(getattr(splits, name), values, ~np.isnan(values) if np.isnan(values).any() else None)
        for name, values in scores_by_set.items()
        if values is not None
    }
    max_grade = max(split.queries.max_relevance for split in splits)
    measured = measured_sets(scored, options.measures, options.conventions, max_grade=max_grade)
    # Bounds depend on the scale of the scores, which is not known of external estimators.
    if is_external:
        return measured
    test, scores = splits.test, scored["test"].scores
    audited = bounds(test, scores, options.select_by) if options.audit else None
    return replace(measured, bounds=audited, above=_above(test, scores, restored(tested, method)))


def bounds(test: QueryGroups, scores: np.ndarray, measure: Measure) -> Bounds | None:
    """Return the audit of scores of the test set, or None if there is nothing to audit.

    To limit the time, large test sets are audited on some of their queries, spread evenly.
    """
    sizes = test.queries.sizes
    fit = np.flatnonzero(sizes <= LONGEST)
    step = max(1, math.ceil(int(sizes[fit].sum()) / AUDITED))
    rows = np.isin(test.qid, test.queries.qid[fit[::step]])
    if not rows.any():
        return None
    audited = test if rows.all() else QueryGroups(test.X[rows], test.relevance[rows], test.qid[rows])
    try:
        audit = audit_scores(scores[rows], audited, measure)
    except DataError:  # the measure is the same for every ranking of these queries
        return None
    loss = math.fsum(audit.loss.tolist()) / len(audit.loss)
    rows = list(map(Bound.like, audit.summaries()))
    return Bounds(measure=audit.measure, queries=len(audit.qid), loss=loss, rows=rows)


def _mean_of(trees: Sequence[Any]) -> Any:
    """Return the mean of nested values of one shape, leaf by leaf; None where there is no value."""
    first = trees[0]
    if isinstance(first, Mapping):
        return {name: _mean_of([tree[name] for tree in trees]) for name in first}
    if isinstance(first, list):
        return [_mean_of(leaves) for leaves in zip(*trees, strict=True)]
    return None if first is None else math.fsum(trees) / len(trees)

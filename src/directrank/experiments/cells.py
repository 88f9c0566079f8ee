"""One cell of a comparison: from the fits of a method on a fold to the values on its test set."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.queries import Queries
from directrank.diagnostics.test_diagnostics import bounds, curve, ties
from directrank.experiments.fits import SCORES, attempted, restored, scores_of
from directrank.experiments.options import Options
from directrank.experiments.records import check_measured
from directrank.experiments.rivals import AnyMethod
from directrank.experiments.sources import Splits
from directrank.measures import evaluate
from directrank.measures.naming.names import name_of
from directrank.storage.names import printable
from directrank.timing import seconds_of_work

if TYPE_CHECKING:
    from directrank.experiments.plan import PlannedCell

#: The record has the relevance of this many documents of each query, as ranked.
TOP = 10
#: The record has the coefficients of a linear model with at most this many.
MOST_WEIGHTS = 2000

Record = dict[str, Any]


def choice(fits: Sequence[Record]) -> dict[int, Record]:
    """Return the fit with the best validation value for each seed; the first of equal ones."""
    of_seeds = {fit["seed"]: [each for each in fits if each["seed"] == fit["seed"]] for fit in fits}
    return {seed: max(these, key=lambda fit: fit["validation"]) for seed, these in of_seeds.items()}


def assemble(
    cell: "PlannedCell", splits: Splits, options: Options, fits: Sequence[Record], refits: Sequence[Record]
) -> Record:
    """Choose by validation and score the test set; nothing else reads the relevance of the test set.

    A failed fit fails the cell, because the choice would not be among all points.

    Returns
    -------
    dict
        The record of the cell, in plain values; with an ``error`` if a fit failed or scoring fails.
    """
    started, every = seconds_of_work(), [*fits, *refits]
    failed = next((fit for fit in every if "error" in fit), None)
    if failed is None:
        record = attempted(lambda: _measured(cell.method, splits, options, fits, refits))
    else:
        record = {"error": {**failed["error"], "parameters": failed.get("parameters", {})}}
    counts = sum((Counter(each.get("warnings", {})) for each in [*every, record]), Counter())
    return {
        **record,
        "fold": cell.fold.name,
        "method": cell.method.label,
        "measure": name_of(cell.method.measure),
        "options": options.of_a_cell,
        "parts": {name: describe(split) for name, split in splits._asdict().items()},
        "warnings": [text + (f" ({count} times)" if count > 1 else "") for text, count in counts.items()],
        "seconds": math.fsum(fit.get("seconds", 0.0) for fit in every) + seconds_of_work() - started,
    }


def describe(part: QueryGroups) -> Record:
    """Return the size of a split and how many documents have each grade."""
    return {"features": part.n_features, **sizes(part.n_queries, part.queries.relevance)}


def sizes(n_queries: int, relevance: np.ndarray) -> Record:
    """Return the number of queries and of documents, and how many have each grade."""
    grades, counts = np.unique(relevance, return_counts=True)
    shown = {f"{grade:g}": int(count) for grade, count in zip(grades, counts, strict=True)}
    return {
        "queries": n_queries,
        "documents": len(relevance),
        "relevance": shown if len(shown) <= 32 else {"distinct": len(shown)},
    }


def _measured(method: AnyMethod, splits: Splits, options: Options, fits, refits) -> Record:
    chosen, every = choice(fits), [*fits, *refits]
    tested = {fit["seed"]: fit for fit in refits} or chosen
    first, first_tested = next(iter(chosen.values())), tested[fits[0]["seed"]]
    runs = [_reported(method, splits, fit, tested[seed], options) for seed, fit in chosen.items()]
    tried = ("parameters", "seed", "validation", "seconds", "status")
    training = ("status", "message", "remedy", "certificate", "iterations", "notes", "history")
    record = {
        "tried": [{name: fit[name] for name in tried} for fit in fits],
        "chosen": first["parameters"],
        "validation": _mean_of([fit["validation"] for fit in chosen.values()]),
        "fit_seconds": math.fsum(fit["seconds"] for fit in every),
        "peak_memory": max(fit["peak_memory"] or 0 for fit in every) or None,
        "training": {name: first_tested[name] for name in training},
        "scaling": first_tested["scaling"],
        "weights": _weights(splits.train, method, first_tested),
        "seeds": [
            {
                "seed": seed,
                "chosen": fit["parameters"],
                "validation": fit["validation"],
                "values": run["values"],
            }
            for (seed, fit), run in zip(chosen.items(), runs, strict=True)
        ],
        **runs[0],
        **{name: _mean_of([run[name] for run in runs]) for name in ("values", "per_query", "curve")},
    }
    # A record that is refused when it is read back would be made again for ever.
    check_measured(record, options.of_a_cell)
    return record


def _weights(train: QueryGroups, method: AnyMethod, fit: Record) -> Record | None:
    """Return the weight of each feature: coefficients, or of stumps and trees, importances."""
    if fit["scorer"]["kind"] == SCORES or train.n_features > MOST_WEIGHTS:
        return None
    scorer: Any = restored(fit, method).scorer_
    # The coefficients of boosted models belong to their rounds.
    importances = getattr(scorer, "feature_importances", None)
    name = "coefficients" if importances is None else "importances"
    values: Any = importances(train.n_features) if importances else getattr(scorer, name, ())
    if np.shape(values) != (train.n_features,):
        return None
    names = train.feature_names or [str(each) for each in range(1, train.n_features + 1)]
    return {"features": list(map(printable, names)), name: np.array(values, dtype=float).tolist()}


def _reported(method: AnyMethod, splits: Splits, chosen: Record, tested: Record, options: Options) -> Record:
    max_grade = max(split.queries.max_relevance for split in splits)
    found = {
        "vali": scores_of(chosen, method, "vali", splits.vali),
        "test": scores_of(tested, method, "test", splits.test),
    }
    # A run need not rank the validation set, nor hold every document.
    scores = {name: values for name, values in found.items() if values is not None}
    held = {name: _held(tested, values) for name, values in scores.items()}
    record: dict[str, Any] = {"values": {}, "per_query": {}, "computed": {}, "curve": {}}
    for convention in options.conventions:
        results = {
            name: evaluate(
                getattr(splits, name), values, measures=options.measures, convention=convention,
                per_query=name == "test", max_grade=max_grade, retrieved=held[name],
            ).to_dict()
            for name, values in scores.items()
        }  # fmt: skip
        record["values"][convention] = {name: each["measures"] for name, each in results.items()}
        for what in ("per_query", "computed"):
            record[what][convention] = results["test"][what]
        record["curve"][convention] = curve(splits.test, scores["test"], convention, held["test"])
        record["qid"] = results["test"]["qid"]
    test, is_rival = (splits.test, scores["test"]), tested["scorer"]["kind"] == SCORES
    return {
        **record,
        "ranked": ranked(*test),
        "ties": ties(*test, options.measures, held["test"]),
        # Bounds depend on the scale of the scores, which is not known of rivals.
        "bounds": bounds(*test, options.select_by) if options.audit and not is_rival else None,
    }


def _held(fit: Record, scores: np.ndarray) -> np.ndarray | None:
    """Return which documents a run holds; None for scores of all documents."""
    held = ~np.isnan(scores)
    return None if held.all() or fit["scorer"]["kind"] != SCORES else held


def ranked(test: QueryGroups | Queries, scores: np.ndarray) -> list[list[float]]:
    """Return the relevance of the top documents of every query as ranked, ties in the order of rows.

    Documents whose score is NaN are left out.
    """
    queries = test if isinstance(test, Queries) else test.queries
    inner, found = scores[queries.row], []
    for start, stop in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
        order = np.lexsort((queries.row[start:stop], -inner[start:stop]))[:TOP]
        order = order[~np.isnan(inner[start:stop][order])]
        found.append(queries.relevance[start:stop][order].tolist())
    return found


def _mean_of(trees: Sequence[Any]) -> Any:
    """Return the mean of nested values of one shape, leaf by leaf; None where there is no value."""
    first = trees[0]
    if isinstance(first, Mapping):
        return {name: _mean_of([tree[name] for tree in trees]) for name in first}
    if isinstance(first, list):
        return [_mean_of(each) for each in zip(*trees, strict=True)]
    return None if first is None else math.fsum(trees) / len(trees)

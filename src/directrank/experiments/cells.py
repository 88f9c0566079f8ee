"""One cell of a comparison: from the fits of a method on a fold to the values on its test set."""

import math
import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.diagnostics.test_diagnostics import bounds, curve, ties
from directrank.estimators.methods import Configured
from directrank.experiments.fits import counted, failure, restored
from directrank.experiments.options import STANDARD, Options
from directrank.experiments.sources import FoldSource, Splits
from directrank.measures import evaluate

#: The record has the relevance of this many documents of each query, as ranked.
TOP = 10
#: The record has the coefficients of a linear model with at most this many.
MOST_WEIGHTS = 2000

Record = dict[str, Any]


def choice(fits: Sequence[Record], options: Options) -> dict[int, Record]:
    """Return the fit with the best validation value for each seed; the first of equal ones."""
    of_seeds = {seed: [fit for fit in fits if fit["seed"] == seed] for seed in options.all_seeds}
    return {seed: max(these, key=lambda fit: fit["validation"]) for seed, these in of_seeds.items()}


def failed_cell(
    fold: FoldSource, splits: Splits, method: Configured, options: Options, fits: Sequence[Record]
) -> Record:
    """Return the record of a cell of which a fit failed: that fit's error, and no values."""
    failed = next(fit for fit in fits if "error" in fit)
    return {
        **_head(fold, method, options),
        "parts": _sizes(splits),
        "error": {**failed["error"], "parameters": failed.get("parameters", {})},
        "warnings": _as_text(_all_warnings(fits)),
        "seconds": math.fsum(fit.get("seconds", 0.0) for fit in fits),
    }


def assemble(
    fold: FoldSource,
    splits: Splits,
    method: Configured,
    options: Options,
    fits: Sequence[Record],
    refits: Sequence[Record],
) -> Record:
    """Choose by validation and score the test set; nothing else reads the relevance of the test set.

    Returns
    -------
    dict
        The record of the cell, in plain values; with an ``error`` if scoring fails.
    """
    record = {**_head(fold, method, options), "parts": _sizes(splits)}
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record.update(_measured(splits, method, options, fits, refits))
        except Exception as error:  # A model that cannot rank is a failure of its method.
            record["error"] = failure(error)
    record["warnings"] = _as_text(_all_warnings([*fits, *refits]) + Counter(counted(caught)))
    fitting = math.fsum(fit["seconds"] for fit in [*fits, *refits])
    return {**record, "seconds": fitting + time.perf_counter() - started}


def describe(part: QueryGroups) -> Record:
    """Return the size of a split and how many documents have each grade."""
    grades, counts = np.unique(part.queries.relevance, return_counts=True)
    shown = {f"{grade:g}": int(count) for grade, count in zip(grades, counts, strict=True)}
    return {
        "queries": part.n_queries,
        "documents": part.n_docs,
        "features": part.n_features,
        "relevance": shown if len(shown) <= 32 else {"distinct": len(shown)},
    }


def _sizes(splits: Splits) -> Record:
    return {name: describe(split) for name, split in splits._asdict().items()}


def _head(fold: FoldSource, method: Configured, options: Options) -> Record:
    facts = {"fold": fold.name, "method": method.label, "measure": method.measure}
    return {**facts, "options": options.of_a_cell}


def _measured(splits: Splits, method: Configured, options: Options, fits, refits) -> Record:
    chosen = choice(fits, options)
    tested = {fit["seed"]: fit for fit in refits} or chosen
    runs = [
        _reported(splits, restored(fit, method), restored(tested[seed], method), options)
        for seed, fit in chosen.items()
    ]
    first, first_tested = (next(iter(each.values())) for each in (chosen, tested))
    tried = ("parameters", "seed", "validation", "seconds", "status")
    return {
        "tried": [{name: fit[name] for name in tried} for fit in fits],
        "chosen": first["parameters"],
        "validation": _mean([fit["validation"] for fit in chosen.values()]),
        "fit_seconds": math.fsum(fit["seconds"] for fit in [*fits, *refits]),
        "peak_memory": max((fit["peak_memory"] or 0 for fit in [*fits, *refits]), default=0) or None,
        "training": _training_of(first_tested),
        "weights": _weights(splits.train, restored(first_tested, method)),
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
        "values": _mean_of([run["values"] for run in runs]),
        "per_query": _mean_of([run["per_query"] for run in runs]),
        "curve": _mean_of([run["curve"] for run in runs]),
    }


def _training_of(fit: Record) -> Record:
    return {name: fit[name] for name in ("status", "message", "certificate", "iterations", "history")}


def _weights(train: QueryGroups, ranker: Any) -> Record | None:
    coefficients = getattr(ranker.scorer_, "coefficients", None)
    if (
        coefficients is None
        or np.shape(coefficients) != (train.n_features,)
        or train.n_features > MOST_WEIGHTS
    ):
        return None
    names = train.feature_names or [str(each) for each in range(1, train.n_features + 1)]
    return {"features": list(names), "coefficients": np.asarray(coefficients, dtype=float).tolist()}


def _reported(splits: Splits, chosen: Any, tested: Any, options: Options) -> Record:
    max_grade = max(split.queries.max_relevance for split in splits)
    vali, test = splits.vali, splits.test
    scores = {"vali": (vali, chosen.predict(vali)), "test": (test, tested.predict(test))}
    results = {
        convention: {
            name: evaluate(
                split, values, measures=options.measures, convention=convention, per_query=name == "test",
                max_grade=max_grade,
            ).to_dict()
            for name, (split, values) in scores.items()
        }
        for convention in options.conventions
    }  # fmt: skip
    tests = {convention: result["test"] for convention, result in results.items()}
    return {
        "values": {
            convention: {name: each["measures"] for name, each in result.items()}
            for convention, result in results.items()
        },
        "computed": {convention: test["computed"] for convention, test in tests.items()},
        "qid": tests[STANDARD]["qid"],
        "per_query": {convention: test["per_query"] for convention, test in tests.items()},
        "ranked": _ranked(*scores["test"]),
        "curve": {name: curve(*scores["test"], name) for name in options.conventions},
        "ties": ties(*scores["test"], options.measures),
        "bounds": bounds(*scores["test"], options.select_by) if options.audit else None,
    }


def _ranked(test: QueryGroups, scores: np.ndarray) -> list[list[float]]:
    """Return the relevance of the top documents of every query as ranked, ties in the order of rows."""
    queries, inner = test.queries, test.to_inner(scores)
    ranked = []
    for start, stop in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
        order = np.lexsort((queries.row[start:stop], -inner[start:stop]))[:TOP]
        ranked.append(queries.relevance[start:stop][order].tolist())
    return ranked


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _mean_of(trees: Sequence[Any]) -> Any:
    """Return the mean of nested values of one shape, leaf by leaf; None where there is no value."""
    first = trees[0]
    if isinstance(first, Mapping):
        return {name: _mean_of([tree[name] for tree in trees]) for name in first}
    if isinstance(first, list):
        return [_mean_of(each) for each in zip(*trees, strict=True)]
    return None if first is None else _mean(trees)


def _all_warnings(fits: Sequence[Record]) -> Counter:
    return sum((Counter(fit.get("warnings", {})) for fit in fits if fit.get("warnings")), Counter())


def _as_text(counts: Counter) -> list[str]:
    return [text + (f" ({count} times)" if count > 1 else "") for text, count in counts.items()]

"""One cell of a comparison: from the fits of a method on a fold to the values on its test part."""

import math
import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.folds import PARTS
from directrank.diagnostics.test_diagnostics import bounds, curve, ties
from directrank.estimators.methods import Configured
from directrank.experiments.fits import counted, failure, restored
from directrank.experiments.sources import FoldSource, Triple
from directrank.measures import evaluate

STANDARD = "standard"
#: Documents of each query whose relevance is kept as ranked.
TOP = 10
#: Coefficients kept of a linear model.
MOST_WEIGHTS = 2000

Record = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """What a comparison does, whatever the methods and the data.

    Attributes
    ----------
    select_by : str
        The measure that picks a point of the grid on the validation part, always in the standard convention.
    measures : tuple of str
        What is reported, by canonical name.
    convention : str
        How it is reported, beside the standard convention.
    seeds : tuple of int
        Every fit is made with each of them, and values are means over them.
    missing : str or float
        See `directrank.read_letor`.
    search : str
        Which points of a grid are tried; see `directrank.experiments.plan.points_of`.
    refit : bool
        Whether the model tested is trained again, on train and validation together.
    audit : bool
        Whether the bounds and approximations of the model tested are kept, on its test part.
    restarts : int
        Random starts of the methods that take them, beside the one they always make.
    """

    select_by: str
    measures: tuple[str, ...]
    convention: str
    seeds: tuple[int, ...]
    missing: str | float
    search: str = "grid"
    refit: bool = False
    audit: bool = True
    restarts: int = 0

    @property
    def conventions(self) -> tuple[str, ...]:
        """The conventions of the report: the asked one first."""
        return tuple(dict.fromkeys((self.convention, STANDARD)))


def choice(fits: Sequence[Record], options: Options) -> dict[int, Record]:
    """Return the fit with the best validation value for each seed; the first of equal ones."""
    best: dict[int, Record] = {}
    for seed in options.seeds:
        mine = [fit for fit in fits if fit["seed"] == seed]
        best[seed] = max(mine, key=lambda fit: fit["validation"])
    return best


def failed_cell(
    fold: FoldSource, parts: Triple, method: Configured, options: Options, fits: Sequence[Record]
) -> Record:
    """Return the record of a cell of which a fit failed: that fit's error, and nothing measured."""
    failed = next(fit for fit in fits if "error" in fit)
    return {
        **_head(fold, method, options),
        "parts": _sizes(parts),
        "error": {**failed["error"], "parameters": failed.get("parameters", {})},
        "warnings": _as_text(_all_warnings(fits)),
        "seconds": math.fsum(fit.get("seconds", 0.0) for fit in fits),
    }


def assemble(
    fold: FoldSource,
    parts: Triple,
    method: Configured,
    options: Options,
    fits: Sequence[Record],
    refits: Sequence[Record],
) -> Record:
    """Choose by validation and score the test part: the only place where its relevance is looked at.

    Returns
    -------
    dict
        The record of the cell, of plain values; if scoring fails, with its ``error``.
    """
    record = {**_head(fold, method, options), "parts": _sizes(parts)}
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record.update(_measured(parts, method, options, fits, refits))
        except Exception as error:  # A model that cannot rank is the method's failure, and recorded as such.
            record["error"] = failure(error)
    record["warnings"] = _as_text(_all_warnings([*fits, *refits]) + Counter(counted(caught)))
    fitting = math.fsum(fit["seconds"] for fit in [*fits, *refits])
    return {**record, "seconds": fitting + time.perf_counter() - started}


def describe(part: QueryGroups) -> Record:
    """Return the size of a part and how many documents have each grade."""
    grades, counts = np.unique(part.queries.relevance, return_counts=True)
    shown = {f"{grade:g}": int(count) for grade, count in zip(grades, counts, strict=True)}
    return {
        "queries": part.n_queries,
        "documents": part.n_docs,
        "features": part.n_features,
        "relevance": shown if len(shown) <= 32 else {"distinct": len(shown)},
    }


def _sizes(parts: Triple) -> Record:
    return {name: describe(part) for name, part in zip(PARTS, parts, strict=True)}


def _head(fold: FoldSource, method: Configured, options: Options) -> Record:
    kept = {**asdict(options), "measures": list(options.measures), "seeds": list(options.seeds)}
    return {"fold": fold.name, "method": method.label, "measure": method.measure, "options": kept}


def _measured(parts: Triple, method: Configured, options: Options, fits, refits) -> Record:
    chosen = choice(fits, options)
    tested = {fit["seed"]: fit for fit in refits} or chosen
    runs = [
        _reported(parts, restored(chosen[seed], method), restored(tested[seed], method), options)
        for seed in options.seeds
    ]
    first = chosen[options.seeds[0]]
    tried = ("parameters", "seed", "validation", "seconds", "status")
    return {
        "tried": [{name: fit[name] for name in tried} for fit in fits],
        "chosen": first["parameters"],
        "validation": _mean([chosen[seed]["validation"] for seed in options.seeds]),
        "fit_seconds": math.fsum(fit["seconds"] for fit in [*fits, *refits]),
        "peak_memory": max((fit["peak_memory"] or 0 for fit in [*fits, *refits]), default=0) or None,
        "training": _training_of(tested[options.seeds[0]]),
        "weights": _weights(parts[0], restored(tested[options.seeds[0]], method)),
        "seeds": [
            {
                "seed": seed,
                "chosen": chosen[seed]["parameters"],
                "validation": chosen[seed]["validation"],
                "values": run["values"],
            }
            for seed, run in zip(options.seeds, runs, strict=True)
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


def _reported(parts: Triple, chosen: Any, tested: Any, options: Options) -> Record:
    max_grade = max(part.queries.max_relevance for part in parts)
    scores = {"vali": (parts[1], chosen.predict(parts[1])), "test": (parts[2], tested.predict(parts[2]))}
    results = {
        convention: {
            name: evaluate(
                part, values, measures=options.measures, convention=convention, per_query=name == "test",
                max_grade=max_grade,
            ).to_dict()
            for name, (part, values) in scores.items()
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
    """Return the relevance of the first documents of every query as ranked, ties in the order of rows."""
    queries, inner = test.queries, test.to_inner(scores)
    ranked = []
    for start, stop in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
        order = np.lexsort((queries.row[start:stop], -inner[start:stop]))[:TOP]
        ranked.append(queries.relevance[start:stop][order].tolist())
    return ranked


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _mean_of(trees: Sequence[Any]) -> Any:
    """Return the mean of equal trees of values, leaf by leaf; None where there is no value."""
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

"""One cell of a comparison: a method on a fold, from the grid to the test values."""

import time
import traceback
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from directrank.data import QueryGroups
from directrank.data.folds import PARTS
from directrank.estimators.methods import Configured
from directrank.experiments.observer import Observer
from directrank.experiments.sources import FoldSource, Triple
from directrank.measures import evaluate, mean_value, parse_measure, settled
from directrank.measures.arguments import checked_scores

STANDARD = "standard"


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
    seed : int
    missing : str or float
        See `directrank.read_letor`.
    """

    select_by: str
    measures: tuple[str, ...]
    convention: str
    seed: int
    missing: str | float

    @property
    def conventions(self) -> tuple[str, ...]:
        """The conventions of the report: the asked one first."""
        return tuple(dict.fromkeys((self.convention, STANDARD)))


def run_cell(
    fold: FoldSource, parts: Triple, method: Configured, options: Options, observer: Observer
) -> dict[str, Any]:
    """Train a method at every point of its grid, pick one on the validation part, score the test part once.

    Returns
    -------
    dict
        The record of the cell, of plain values. A method that fails leaves its error there, under
        ``"error"``; nothing else of it is then reported.
    """
    record: dict[str, Any] = {
        "fold": fold.name,
        "method": method.label,
        "measure": method.measure,
        "options": {**asdict(options), "measures": list(options.measures)},
        "parts": {name: describe(part) for name, part in zip(PARTS, parts, strict=True)},
    }
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record.update(_trained_and_scored(parts, method, options, observer))
        except Exception as error:  # Whatever a method does, the comparison records it and goes on.
            record["error"] = {
                "type": type(error).__name__,
                "message": " ".join(str(error).split()),
                "traceback": traceback.format_exc(),
            }
    record["warnings"] = _distinct(caught)
    record["seconds"] = time.perf_counter() - started
    return record


def describe(part: QueryGroups) -> dict[str, Any]:
    """Return the size of a part and how many documents have each grade."""
    grades, counts = np.unique(part.queries.relevance, return_counts=True)
    shown = {f"{grade:g}": int(count) for grade, count in zip(grades, counts, strict=True)}
    return {
        "queries": part.n_queries,
        "documents": part.n_docs,
        "features": part.n_features,
        "relevance": shown if len(shown) <= 32 else {"distinct": len(shown)},
    }


def _trained_and_scored(
    parts: Triple, method: Configured, options: Options, observer: Observer
) -> dict[str, Any]:
    train, vali, test = parts
    max_grade = max(part.queries.max_relevance for part in parts)
    chooser = settled(parse_measure(options.select_by), max_grade)
    tried: list[dict[str, Any]] = []
    best, best_index = None, -1
    for index, point in enumerate(method.points()):
        started = time.perf_counter()
        ranker = method.build(point, random_state=options.seed).fit(train, eval_set=vali)
        scores = checked_scores(ranker.predict(vali), vali.n_docs)
        value = mean_value(chooser, vali.queries, vali.to_inner(scores))
        tried.append(
            {
                "parameters": point,
                "validation": value,
                "seconds": time.perf_counter() - started,
                "status": ranker.status_,
            }
        )
        # The first of equal points stays: the outcome does not depend on the order of arrival.
        if best is None or value > tried[best_index]["validation"]:
            best, best_index = ranker, index
        observer.fitted()
    # Only here, with the choice made, is the test part looked at.
    return {
        "tried": tried,
        "chosen": tried[best_index]["parameters"],
        "validation": tried[best_index]["validation"],
        "fit_seconds": sum(each["seconds"] for each in tried),
        "training": _training_of(best),
        **_reported({"vali": vali, "test": test}, best, options, max_grade),
    }


def _training_of(ranker: Any) -> dict[str, Any]:
    return {
        "status": ranker.status_,
        "message": getattr(ranker, "message_", ""),
        "certificate": {name: float(value) for name, value in ranker.certificate_.items()},
        "iterations": len(ranker.history_),
    }


def _reported(
    parts: dict[str, QueryGroups], ranker: Any, options: Options, max_grade: float
) -> dict[str, Any]:
    scores = {name: ranker.predict(part) for name, part in parts.items()}
    results = {
        convention: {
            name: evaluate(
                part,
                scores[name],
                measures=options.measures,
                convention=convention,
                per_query=name == "test",
                max_grade=max_grade,
            ).to_dict()
            for name, part in parts.items()
        }
        for convention in options.conventions
    }
    tests = {convention: result["test"] for convention, result in results.items()}
    return {
        "values": {
            convention: {name: each["measures"] for name, each in result.items()}
            for convention, result in results.items()
        },
        "computed": {convention: test["computed"] for convention, test in tests.items()},
        "qid": tests[STANDARD]["qid"],
        "per_query": {convention: test["per_query"] for convention, test in tests.items()},
    }


def _distinct(caught) -> list[str]:
    counts = Counter(f"{each.category.__name__}: {' '.join(str(each.message).split())}" for each in caught)
    return [text + (f" ({count} times)" if count > 1 else "") for text, count in counts.items()]

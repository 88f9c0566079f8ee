"""Fusion weights in the forms of search engines."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NamedTuple

from directrank.apps.engines.function import Written
from directrank.apps.fusion.rules import MIN_MAX, MNZ, RANK, K
from directrank.errors import ExportError, check_choice

EQUAL = (
    "Where all scores of a run are equal in a query, directrank adds its weight for the documents that it "
    "found, and the engine {}."
)
#: Weights that differ by less are equal.
EQUAL_WEIGHTS = 1e-9
ALONE = "Documents that the one run with a weight does not find come last; directrank leaves them out."
TIES = (
    "Documents with equal scores in a run share the mean of their ranks; the engine ranks one of them first."
)


class Engine(NamedTuple):
    """A search engine: how it says weights under each normalisation that it has."""

    forms: dict[str, Callable[[Sequence[str], Sequence[float]], str]]
    needs: str
    #: What is not as in directrank, by normalisation.
    changes: dict[str, tuple[str, ...]]


def _equal(weights: Sequence[float]) -> bool:
    return max(weights) - min(weights) <= EQUAL_WEIGHTS


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _ranker(runs: Sequence[str], weights: Sequence[float]) -> str:
    combination: dict[str, object] = {"technique": "rrf", "rank_constant": K}
    if not _equal(weights):
        combination["parameters"] = {"weights": [*weights]}
    return _json({"phase_results_processors": [{"score-ranker-processor": {"combination": combination}}]})


def _normalisation(runs: Sequence[str], weights: Sequence[float]) -> str:
    processor = {
        "normalization": {"technique": "min_max"},
        "combination": {"technique": "arithmetic_mean", "parameters": {"weights": [*weights]}},
    }
    return _json({"phase_results_processors": [{"normalization-processor": processor}]})


def _rrf(runs: Sequence[str], weights: Sequence[float]) -> str:
    parts = [{"retriever": run, "weight": weight} for run, weight in zip(runs, weights, strict=True)]
    return _json({"retriever": {"rrf": {"retrievers": parts, "rank_constant": K}}})


def _linear(runs: Sequence[str], weights: Sequence[float]) -> str:
    parts = [
        {"retriever": run, "weight": weight, "normalizer": "minmax"}
        for run, weight in zip(runs, weights, strict=True)
    ]
    return _json({"retriever": {"linear": {"retrievers": parts}}})


def _combined(runs: Sequence[str], weights: Sequence[float]) -> str:
    if not _equal(weights):
        written = ", ".join(f"{weight:.4g}" for weight in weights)
        raise ExportError(
            f"solr weighs all runs alike, not as {written}: fuse outside of Solr with fuse --model, or leave "
            "out --qrels, which gives RRF"
        )
    combiner = {"combiner": True, "combiner.query": [*runs], "combiner.algorithm": "rrf", "combiner.rrf.k": K}
    return _json({"queries": {run: run for run in runs}, "params": combiner})


def _vespa(normalised: str, *, counted: bool = False) -> Callable[[Sequence[str], Sequence[float]], str]:
    def form(runs: Sequence[str], weights: Sequence[float]) -> str:
        terms = [
            f"{weight!r} * if (isNan({run}), 0, {normalised.format(run=run)})"
            for run, weight in zip(runs, weights, strict=True)
        ]
        total = "\n                + ".join(terms)
        if counted:
            total = f"({total})\n                * ({' + '.join(f'if (isNan({run}), 0, 1)' for run in runs)})"
        return (
            "rank-profile fusion {\n    global-phase {\n        expression {\n                "
            f"{total}\n        }}\n    }}\n}}\n"
        )

    return form


ENGINES = {
    "opensearch": Engine(
        {RANK: _ranker, MIN_MAX: _normalisation},
        "A search pipeline, and a hybrid query whose queries are, in this order: {runs}. Let "
        "pagination_depth be the length of the runs. Weights of score-ranker-processor need version 3.1.",
        {
            RANK: (TIES,),
            MIN_MAX: ("The least score of each run counts 0.001 in place of 0.",),
        },
    ),
    "elasticsearch": Engine(
        {RANK: _rrf, MIN_MAX: _linear},
        "In place of each name the retriever of that run: {runs}. Let rank_window_size be the length of the "
        "runs. Weights of rrf need version 9.2.",
        {RANK: (TIES,), MIN_MAX: (EQUAL.format("the weighted score itself"),)},
    ),
    "solr": Engine(
        {RANK: _combined},
        "Version 9.11 or 10.1 with a CombinedQuerySearchHandler, and in place of each name after a colon the "
        "query of that run: {runs}. Let limit be the length of the runs.",
        {RANK: (TIES,)},
    ),
    "vespa": Engine(
        {
            RANK: _vespa(f"reciprocal_rank({{run}}, {K})"),
            MIN_MAX: _vespa("normalize_linear({run})"),
            MNZ: _vespa("normalize_linear({run})", counted=True),
        },
        "Functions that give each run's score, and NaN for documents that it does not find: {runs}. Let "
        "rerank-count be the documents of all runs.",
        {RANK: (TIES,), MIN_MAX: (EQUAL.format("half of it"),), MNZ: (EQUAL.format("half of it"),)},
    ),
}


def engine_form(engine: str, runs: Sequence[str], weights: Sequence[float], normalisation: str) -> Written:
    """Return the weights of a fusion, not negative and with the sum 1, in the form of an engine.

    Raises
    ------
    ExportError
        If the engine has not the normalisation.
    ValueError
        If there is no such engine.
    """
    check_choice("engine", engine, ENGINES)
    chosen = ENGINES[engine]
    if normalisation not in chosen.forms:
        raise ExportError(
            f"{engine} has no normalisation {normalisation!r}, but {' and '.join(chosen.forms)}; learn with "
            f"--normalise {','.join(chosen.forms)}, or take --rule rrf"
        )
    names = _identifiers(runs) if engine == "vespa" else [*runs]
    text = chosen.forms[normalisation](names, weights)
    needs = chosen.needs.format(runs=", ".join(names))
    changes = chosen.changes[normalisation] + (ALONE,) * (sum(weight > 0 for weight in weights) == 1)
    return Written(text.encode(), (needs,), changes)


def _identifiers(runs: Sequence[str]) -> list[str]:
    """Return names that Vespa takes for functions; numbered where two would be equal."""
    names = [re.sub(r"\W", "_", PurePath(run).stem, flags=re.A) for run in runs]
    return [
        f"run{number}_{name}" if names.count(name) > 1 or not name[:1].isalpha() else name
        for number, name in enumerate(names, 1)
    ]

"""The content of results.json: its shape, and that its pieces belong together."""

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import product
from typing import Any

from directrank.experiments.options import CORRECTIONS, OF_A_CELL
from directrank.experiments.records.of_cells import DATA_CHECK, OPTIONS, PARTS, STANDARD, cell
from directrank.experiments.records.shapes import (
    OddValueError,
    Shape,
    any_float,
    by_name,
    either,
    every,
    fields,
    flag,
    nothing,
    number,
    one_of,
    setting,
    text,
    whole,
)
from directrank.experiments.tables.chosen import CHOSEN, chosen_cells
from directrank.experiments.tables.own_measures import KEY
from directrank.measures import CONVENTIONS, parse_measure

METHOD = fields(
    label=text, name=text, measure=either(nothing, text), summary=text, paper=text,
    grid=by_name(every(setting)),
)  # fmt: skip
OWN_MEASURE = fields(name=text, meaning=text, is_error=flag)
FOLD = fields(
    name=text, sha256=by_name(text, PARTS),
    files=either(by_name(every(text), ()), by_name(every(text), PARTS)),
)  # fmt: skip
REST = fields(
    format=text, dataset=text, seed=whole, settings=by_name(setting), grids=by_name(every(setting)),
    reading=every(text), methods=every(METHOD, least=1), folds=every(FOLD, least=1), data_check=DATA_CHECK,
    environment=by_name(text), command=every(text), written=text, significance=by_name(setting),
    cells=every(cell),
)  # fmt: skip


def check_results(content: Any) -> None:
    """Raise `OddValueError` unless a value is the complete content of a file of results."""
    by_name(setting)(content, "")
    options = {name: each for name, each in content.items() if name in (*OF_A_CELL, "columns")}
    OPTIONS(options, "")
    own = content.get(KEY, {})
    by_name(OWN_MEASURE)(own, f".{KEY}")
    _check_names(options, own)
    REST({name: each for name, each in content.items() if name not in options and name != KEY}, "")
    by_name(text, ("directrank", *content["environment"]))(content["environment"], ".environment")
    _check_time(content["written"])
    methods = _different([each["label"] for each in content["methods"]], ".methods")
    folds = _different([each["name"] for each in content["folds"]], ".folds")
    _check_cells(content["cells"], options, methods, folds)
    conventions = dict.fromkeys((options["convention"], STANDARD))
    tested = by_name(_significance(options["measures"], methods), conventions)
    tested(content["significance"], ".significance")


def _check_names(options: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuse measures and conventions that do not exist; `own` are the measures that the results explain."""
    one_of(*CONVENTIONS)(options["convention"], ".convention")
    for name in (options["select_by"], *_different(options["measures"], ".measures")):
        try:
            fine = name in own or parse_measure(name).name == name
        except ValueError:
            fine = False
        if not fine:
            raise OddValueError(".measures", name, "the name of a measure")


def _check_time(written: str) -> None:
    try:
        datetime.fromisoformat(written)
    except ValueError:
        raise OddValueError(".written", written, "a time") from None


def _different(names: list[str], place: str) -> list[str]:
    if len(set(names)) < len(names):
        raise OddValueError(place, names, "different names")
    return names


def _check_cells(
    cells: list[dict[str, Any]], options: Mapping[str, Any], methods: Collection[str], folds: Collection[str]
) -> None:
    """Refuse all but one cell for each method and fold, made with the options of the comparison."""
    found = sorted((each["fold"], each["method"]) for each in cells)
    if found != sorted(product(folds, [each for each in methods if each != CHOSEN])):
        raise OddValueError(".cells", f"{len(found)} cells", "one for each fold and method")
    if CHOSEN in methods and not chosen_cells(cells, list(folds)):
        raise OddValueError(".methods", CHOSEN, "two or more methods to choose from")
    names: dict[str, list[str]] = {}
    for at, each in enumerate(cells):
        one_of(dict(options))(each["options"], f".cells[{at}].options")
        if "error" not in each:
            chosen = sorted(each["chosen"])
            if names.setdefault(each["method"], chosen) != chosen:
                raise OddValueError(f".cells[{at}].chosen", chosen, str(names[each["method"]]))


def _significance(measures: Collection[str], methods: Collection[str]) -> Shape:
    """Return the shape of the tests of one convention."""
    method = one_of(*methods)
    pair = fields(
        method=method, baseline=method,
        **dict.fromkeys(("queries", "wins", "ties", "losses"), whole),
        **dict.fromkeys(("difference", "low", "high"), number),
        **dict.fromkeys(("p_t", "p_randomisation", "p_holm", "p_bh"), number), effect=any_float,
    )  # fmt: skip

    def intervals(value: Any, place: str) -> None:
        by_name(every(number, 2))(value, place)
        for name in value:
            method(name, place)

    return fields(
        alpha=number, correction=one_of(*CORRECTIONS), baseline=either(nothing, method), level=number,
        flips=whole, resamples=whole, letters=by_name(text, methods),
        better_than=by_name(by_name(text, methods), measures), pairs=by_name(every(pair), measures),
        intervals=by_name(intervals, measures),
    )  # fmt: skip

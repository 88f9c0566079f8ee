"""The records of fits and cells, in the store and in results.json."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

from directrank.diagnostics.test_diagnostics import CUTOFFS

#: A check of a value at a place; it raises `OddValueError`.
Shape = Callable[[Any, str], None]
#: Numbers are smaller: sums and axes of charts must not overflow.
LARGEST = 1e100
SHOWN = 40


class OddValueError(ValueError):
    """A value is not of the shape expected at its place."""

    def __init__(self, place: str, value: Any, expected: str):
        text = ascii(value)
        found = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        super().__init__(f"{place.removeprefix('.') or 'the whole'}: found {found}, expected {expected}")


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value has a shape."""
    try:
        shape(value, "")
    except OddValueError:
        return False
    return True


def text(value: Any, place: str) -> None:
    """Accept text."""
    _demand(isinstance(value, str), value, place, "text")


def flag(value: Any, place: str) -> None:
    """Accept true and false."""
    _demand(isinstance(value, bool), value, place, "true or false")


def whole(value: Any, place: str) -> None:
    """Accept a whole number from 0."""
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST
    _demand(fine, value, place, "a whole number, 0 or more")


def number(value: Any, place: str) -> None:
    """Accept a finite number."""
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST
    _demand(fine, value, place, "a finite number")


def any_float(value: Any, place: str) -> None:
    """Accept a number, also one that is not finite."""
    if not isinstance(value, float):
        number(value, place)


def setting(value: Any, place: str) -> None:
    """Accept the value of a parameter: anything plain, and of numbers those that fit a float."""
    if isinstance(value, int) and not isinstance(value, bool):
        any_float(value, place)


def nothing(value: Any, place: str) -> None:
    """Accept None."""
    _demand(value is None, value, place, "nothing")


def one_of(*values: Any) -> Shape:
    """Accept some values only."""

    def check(value: Any, place: str) -> None:
        _demand(any(type(value) is type(each) and value == each for each in values), value, place, expected)

    expected = " or ".join(map(str, values))
    return check


def either(*shapes: Shape) -> Shape:
    """Accept what has one of some shapes; the error is that of the last one."""

    def check(value: Any, place: str) -> None:
        if not any(fits(shape, value) for shape in shapes[:-1]):
            shapes[-1](value, place)

    return check


def every(shape: Shape, length: int | None = None, *, least: int = 0) -> Shape:
    """Accept a list of values of one shape."""
    expected = f"a list of {length}" if length is not None else f"a list of {least} or more"

    def check(value: Any, place: str) -> None:
        _demand(isinstance(value, (list, tuple)), value, place, "a list")
        fine = len(value) >= least and length in (None, len(value))
        _demand(fine, f"{len(value)} values", place, expected)
        for at, each in enumerate(value):
            shape(each, f"{place}[{at}]")

    return check


def by_name(shape: Shape, names: Collection[str] | None = None) -> Shape:
    """Accept a mapping with values of one shape; `names` are the keys that it must have, if given."""

    def check(value: Any, place: str) -> None:
        _demand(isinstance(value, dict), value, place, "names with values")
        if names is not None:
            _demand_names(value, names, place)
        for name, each in value.items():
            shape(each, f"{place}.{name}")

    return check


def fields(**shapes: Shape) -> Shape:
    """Accept a mapping with these names and no other."""

    def check(value: Any, place: str) -> None:
        _demand(isinstance(value, dict), value, place, "names with values")
        _demand_names(value, shapes, place)
        for name, shape in shapes.items():
            shape(value[name], f"{place}.{name}")

    return check


def _demand_names(value: dict[str, Any], names: Collection[str], place: str) -> None:
    missing = [name for name in names if name not in value]
    if missing:
        raise OddValueError(place, sorted(value), f"{missing[0]!r} among the names")
    unknown = [name for name in value if name not in names]
    if unknown:
        raise OddValueError(place, unknown[0], f"one of {', '.join(names)}")


def _demand(fine: bool, value: Any, place: str, expected: str) -> None:
    if not fine:
        raise OddValueError(place, value, expected)


STANDARD = "standard"
PARTS = ("train", "vali", "test")
#: A rival that draws random numbers is trained with this many seeds unless seeds are named: one seed moves
#: its values.
RIVAL_SEEDS = 3
#: Values of a measure, and the mean of its values by query, differ by no more than rounding.
ROUNDING = 1e-9

SCALAR = either(text, flag, nothing, any_float)
PARAMETERS = by_name(setting)
WARNINGS = by_name(whole)
QID = either(text, flag, any_float, every(either(text, flag, any_float)))
END = {
    "status": text,
    "message": text,
    "remedy": text,
    "certificate": by_name(any_float),
    "iterations": whole,
    "notes": every(text),
}
TRAINING = fields(**END, history=every(by_name(SCALAR)))
SCALING = fields(kind=text, reason=text)
ERROR = {"type": text, "message": text, "traceback": text}

#: What a method made of a fit; the record of a fit that ended, and of one that failed; a step whose
#: processes died.
TRAINED: dict[str, Shape] = {
    "validation": either(nothing, number), "validated_by": either(nothing, text), "seconds": number,
    **END, "history": every(by_name(SCALAR)),
    "peak_memory": either(nothing, whole), "n_features": whole, "scaling": SCALING,
    "scorer": fields(kind=text, safetensors=text),
}  # fmt: skip
FIT = fields(parameters=PARAMETERS, seed=whole, **TRAINED, warnings=WARNINGS)
FAILED_FIT = fields(parameters=PARAMETERS, seed=whole, error=fields(**ERROR), warnings=WARNINGS)
DIED = fields(error=fields(**ERROR), warnings=WARNINGS)

FINDING = fields(code=text, message=text, count=whole, examples=every(SCALAR), values=by_name(any_float))
DATA_CHECK = fields(
    name=text, n_queries=whole, n_docs=whole, n_features=whole, findings=every(FINDING), lines=every(text),
    of=text,
)  # fmt: skip

#: The options that a cell states.
OPTIONS = fields(
    select_by=text, measures=every(text, least=1), convention=text, seeds=every(whole, least=1),
    missing=either(text, any_float), search=text, refit=flag, audit=flag, restarts=whole,
    columns=by_name(setting),
)  # fmt: skip
PART = fields(queries=whole, documents=whole, features=whole, relevance=by_name(whole))
FRAME: dict[str, Shape] = {
    "fold": text, "method": text, "measure": either(nothing, text), "options": OPTIONS,
    "parts": by_name(PART, PARTS), "warnings": every(text), "seconds": number,
}  # fmt: skip
FAILED_CELL = fields(**FRAME, error=either(fields(**ERROR), fields(**ERROR, parameters=PARAMETERS)))
BOUND = fields(
    name=text, kind=text, mean=any_float, distance=any_float, largest=any_float, loosest=SCALAR,
    holds=either(nothing, flag),
)  # fmt: skip
BOUNDS = fields(measure=text, queries=whole, loss=number, rows=every(BOUND))
#: Runs need not rank the validation set.
VALIDATION = either(nothing, number)
TRIED = fields(parameters=PARAMETERS, seed=whole, validation=VALIDATION, seconds=number, status=text)


def cell_shape(value: Any, place: str) -> None:
    """Accept the record of a cell; its values must be there for each of its options, and agree."""
    if isinstance(value, dict) and "error" in value:
        FAILED_CELL(value, place)
        return
    by_name(setting)(value, place)
    options: Any = value.get("options")
    OPTIONS(options, f"{place}.options")
    fields(**FRAME, **_measured(options["convention"], tuple(options["measures"])))(value, place)
    _agree(value, options["seeds"], place)


def check_measured(value: dict[str, Any], options: Mapping[str, Any]) -> None:
    """Raise `OddValueError` unless a value is what only the record of a cell that did not fail has."""
    fields(**_measured(options["convention"], tuple(options["measures"])))(value, "")
    _agree(value, options["seeds"], "")


@cache
def _measured(convention: str, measures: tuple[str, ...]) -> dict[str, Shape]:
    conventions = dict.fromkeys((convention, STANDARD))

    def of_conventions(shape: Shape) -> Shape:
        return by_name(shape, conventions)

    means = by_name(number, measures)
    values = of_conventions(either(by_name(means, ("test",)), by_name(means, ("vali", "test"))))
    per_query = of_conventions(by_name(every(either(nothing, number)), measures))
    run = fields(seed=whole, chosen=PARAMETERS, validation=VALIDATION, values=values)
    tied = fields(documents=whole, queries=whole, input=by_name(number, measures))
    coefficients = fields(features=every(text), coefficients=every(any_float))
    importances = fields(features=every(text), importances=every(number))
    return {
        "tried": every(TRIED, least=1), "chosen": PARAMETERS, "validation": VALIDATION, "fit_seconds": number,
        "peak_memory": either(nothing, whole), "training": TRAINING, "scaling": SCALING,
        "weights": either(nothing, importances, coefficients),
        "seeds": every(run, least=1), "values": values, "per_query": per_query,
        "computed": of_conventions(by_name(text, measures)), "curve": of_conventions(every(number, CUTOFFS)),
        "qid": every(QID, least=1), "ranked": every(every(number)), "ties": tied,
        "bounds": either(nothing, BOUNDS),
    }  # fmt: skip


def _agree(record: Mapping[str, Any], seeds: Sequence[int], place: str) -> None:
    """Refuse a record whose pieces do not belong together."""
    _agree_seeds([run["seed"] for run in record["seeds"]], list(seeds), f"{place}.seeds")
    for each in (record, *record["seeds"]):
        for by_split in each["values"].values():
            if ("vali" in by_split) != (each["validation"] is not None):
                raise OddValueError(f"{place}.validation", each["validation"], "a value where vali has some")
    n, weights = len(record["qid"]), record["weights"] or {}
    lists = {"ranked": record["ranked"], **{f"weights.{name}": weights[name] for name in weights}}
    expected = {name: len(weights["features"]) if "." in name else n for name in lists}
    for convention, by_measure in record["per_query"].items():
        for measure, values in by_measure.items():
            where = f"per_query.{convention}.{measure}"
            lists[where], expected[where] = values, n
            _agree_mean(values, record["values"][convention]["test"][measure], f"{place}.{where}")
    for where, values in lists.items():
        if len(values) != expected[where]:
            raise OddValueError(f"{place}.{where}", len(values), f"{expected[where]} values")
    tried = [each["parameters"] for each in record["tried"]]
    for at, each in enumerate(tried):
        if sorted(each) != sorted(record["chosen"]):
            raise OddValueError(f"{place}.tried[{at}].parameters", each, str(sorted(record["chosen"])))
    for chosen in (record["chosen"], *(run["chosen"] for run in record["seeds"])):
        if chosen not in tried:
            raise OddValueError(f"{place}.chosen", chosen, "parameters that were tried")


def seeds_after(seed: int) -> tuple[int, ...]:
    """Return the seeds of a rival where only one seed is named: it and those after it."""
    return tuple((seed + more) % 2**32 for more in range(RIVAL_SEEDS))


def _agree_seeds(found: list[int], seeds: list[int], place: str) -> None:
    """Refuse other seeds than those of the options; of rivals, also than their own (`RIVAL_SEEDS`)."""
    if found != seeds and (len(seeds) > 1 or found != list(seeds_after(seeds[0]))):
        raise OddValueError(place, found, f"the seeds {seeds}")


def _agree_mean(values: list[float | None], mean: float, place: str) -> None:
    known = [value for value in values if value is not None]
    found = math.fsum(known) / len(known) if known else math.nan
    if not abs(found - mean) <= ROUNDING * max(1.0, abs(mean)):
        raise OddValueError(place, found, f"the mean {mean!r}")


def is_cell(value: Any) -> bool:
    """Whether a value is the record of a cell, or of one whose last step killed its processes."""
    return fits(cell_shape, value) and "error" not in value

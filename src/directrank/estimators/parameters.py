"""Parameters of estimators: each is written once, with its type, its sentence and its default.

::

    @estimator
    class SoftRank(Ranker):
        noise: Annotated[float, "σ, in score units.", ABOVE_0] = 0.1

`estimator` makes the constructor that scikit-learn expects, its signature with plain types, and the
``Parameters``, ``Attributes`` and ``Examples`` of the docstring; `check_parameters` checks the
values.
"""

import inspect
import math
import re
import reprlib
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache, reduce, wraps
from numbers import Integral, Real
from operator import or_
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.estimators.sklearn_interface import Classifier, is_classifier
from directrank.estimators.synonyms import near_name, our_name, without

__all__ = [
    "ABOVE_0",
    "FROM_0",
    "FROM_1",
    "AnyMeasure",
    "Gain",
    "Grid",
    "Interval",
    "MaxIterations",
    "Parameters",
    "Penalty",
    "Point",
    "estimator",
    "parameters_of",
    "positional",
    "unknown_parameter",
]

#: Parameters of an estimator by name, a point of a grid of them, and a grid; the class says what each may be.
Parameters = Mapping[str, Any]
Point = dict[str, Any]
Grid = Mapping[str, Sequence[Any]]
#: A type as annotations have it: a class, a union, a `Literal`.
Kind = Any

#: What a message calls the types that are neither numbers nor options.
CALLED = {
    bool: "true or false", NoneType: "none", str: "text", Measure: "a measure",
    Surrogate: "a surrogate", Callable: "a function", np.ndarray: "finite coefficients",
    Classifier: "a scikit-learn classifier", np.random.RandomState: "a RandomState",
}  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`; infinity only if `infinite`, NaN never."""

    low: float
    high: float = math.inf
    above: bool = False  # Whether numbers must be above `low`, which is itself allowed otherwise
    infinite: bool = False

    def __contains__(self, number: Any) -> bool:
        large_enough = number > self.low if self.above else number >= self.low
        return bool(large_enough and number <= self.high and (self.infinite or abs(number) != math.inf))

    def __str__(self) -> str:
        low = f"{'>' if self.above else '≥'} {self.low}"
        high = "" if self.high == math.inf else f" and ≤ {self.high}"
        return low + high + (" or infinite" if self.infinite else "")


ABOVE_0, FROM_0, FROM_1 = Interval(0, above=True), Interval(0), Interval(1)


class Parameter(NamedTuple):
    """A declared parameter: its name and default, its type with the interval of numbers, and its sentence."""

    name: str
    default: Any
    kind: Kind
    sentence: str
    interval: Interval | None = None

    @property
    def allowed(self) -> str:
        """What its values may be, in words."""
        kinds = _kinds(self.kind)
        # The name of a measure is a measure.
        kinds = [kind for kind in kinds if not (kind is str and Measure in kinds)]
        *first, last = dict.fromkeys(word for kind in kinds for word in _called(kind, self.interval))
        return f"{', '.join(first)} or {last}" if first else last

    @property
    def annotation(self) -> Kind:
        """Its type in a signature: options are of their types, and the name of a measure is text."""
        kinds = _kinds(self.kind)
        options = [type(option) for kind in kinds if get_origin(kind) is Literal for option in get_args(kind)]
        return reduce(or_, [*options, *(kind for kind in kinds if get_origin(kind) is not Literal)])

    @property
    def heading(self) -> str:
        """Its name, what its values may be and its default, as numpydoc wants them."""
        absent = self.default is None
        default = "optional" if absent else f"default={self.default!r}"
        allowed = self.allowed.removesuffix(" or none" if absent else "\0")
        return f"{self.name} : {allowed}, {default}".replace("'", '"')

    def check(self, value: object, of: str) -> None:
        """Raise `ValueError` for a value that is not allowed; `of` is whose parameter it is."""
        if not any(_fits(value, kind, self.interval) for kind in _kinds(self.kind)):
            raise ValueError(f"{self.name} must be {self.allowed}, not {reprlib.repr(value)} ({of})")


@cache
def parameters_of(cls: type) -> Mapping[str, Parameter]:
    """Return the declared parameters of a class of estimators, by name, in the order of the constructor."""
    ordered = sorted(fields(cls), key=lambda parameter: parameter.kw_only is True)
    return {
        parameter.name: Parameter(parameter.name, parameter.default, *get_args(parameter.type))
        for parameter in ordered
        if get_origin(parameter.type) is Annotated
    }


def check_parameters(estimator: object) -> None:
    """Raise `ValueError` if a parameter of an estimator has a value that its declaration does not allow."""
    for name, parameter in parameters_of(type(estimator)).items():
        parameter.check(getattr(estimator, name), type(estimator).__name__)


def unknown_parameter(name: str, parameters: Collection[str], estimator: type, label: str = "") -> str:
    """Return the message about a parameter that an estimator, or a method of this label, does not have.

    It says what ours for the same purpose means; else it names one that is typed alike, or all.
    """
    ours, owner = near_name(name, parameters), label or estimator.__name__
    if ours is not None:
        declared = parameters_of(estimator)[ours]
        use = f"use {ours} (default {declared.default!r}): {declared.sentence}"
        return f"{owner} has no parameter {name}; {use}"
    if (advice := without(name)) is not None:
        return f"{owner} has no parameter {name}; {advice}"
    near = get_close_matches(name, parameters, 1)
    advice = f"did you mean {near[0]}? " if near else ""
    return f"{owner} has no parameter {name}; {advice}it has: {', '.join(parameters)}"


def understood(values: Parameters, parameters: Collection[str], estimator: type) -> Point:
    """Return parameters of an estimator under our names; see `directrank.estimators.synonyms`.

    Raises `TypeError` if one is unknown, or is there under two names.
    """
    point: Point = {}
    for name, value in values.items():
        ours = name if name in parameters else our_name(name, parameters)
        if ours is None:
            raise TypeError(unknown_parameter(name, parameters, estimator))
        if ours in point:
            twice = " and ".join(typed for typed in values if our_name(typed, parameters) == ours)
            raise TypeError(f"{estimator.__name__}: {twice} are one parameter, {ours}; pass it once")
        point[ours] = value
    return point


def _understanding(construct: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor, with the same signature, that takes parameters as other libraries call them."""
    names = list(inspect.signature(construct).parameters)[1:]

    @wraps(construct)
    def understanding(self, *positionals: object, **values: object) -> None:
        construct(self, *positionals, **understood(values, names, type(self)))

    return understanding


def _kinds(kind: Kind) -> list[Kind]:
    return list(get_args(kind)) if get_origin(kind) in (Union, UnionType) else [kind]


def _fits(value: Any, kind: Kind, interval: Interval | None) -> bool:
    """Say whether a value is of one kind, and its numbers are in the interval."""
    if get_origin(kind) is Literal:
        return any(type(value) is type(option) and value == option for option in get_args(kind))
    if kind in (int, float):
        number = Integral if kind is int else Real
        is_number = isinstance(value, number) and not isinstance(value, (bool, np.bool_))
        return is_number and (interval is None or value in interval)
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if get_origin(kind) is Sequence:
        is_list = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))
        return is_list and all(_fits(item, get_args(kind)[0], interval) for item in value)
    if kind is np.ndarray:
        return _fits(value, Sequence[float], Interval(-math.inf))
    if kind is Classifier:
        return is_classifier(value)
    return callable(value) if kind is Callable else isinstance(value, kind)


def _called(kind: Kind, interval: Interval | None) -> list[str]:
    """Return what a message calls the values of one kind."""
    if get_origin(kind) is Literal:
        return [repr(option) for option in get_args(kind)]
    if get_origin(kind) is Sequence:
        (element,) = get_args(kind)
        is_number = element in (int, float)
        return [f"a list of numbers {interval}" if is_number else f"a list of {element.__name__}"]
    if kind in (int, float):
        return [f"a {'whole number' if kind is int else 'number'} {interval}"]
    return [CALLED.get(kind, f"a fitted {kind.__name__}")]


Estimator = TypeVar("Estimator", bound=type)

AnyMeasure = str | Measure
Gain = Literal["relevance", "gain"]
Penalty = Annotated[
    float, "λ on half the squared norm of the coefficients, relative to the objective at zero scores.", FROM_0
]
MaxIterations = Annotated[int, "Largest number of iterations of L-BFGS from each start.", FROM_1]
Keep = Annotated[
    Literal["best", "last"],
    "Keep the first rounds, up to the best by the selection measure, or all rounds. Without a validation set "
    "the best number is found on held-out queries, and then all queries train so many rounds.",
]
Normalise = Annotated[bool, "Divide the loss of each query by its number of pairs."]
Width = Annotated[float, "Width of the Huber margin's rounded corner, in score units.", ABOVE_0]

#: The example of an estimator that has none of its own.
EXAMPLE = """\
>>> from directrank import {name}, make_ranking
>>> train, vali = make_ranking(10, 8, 4, random_state=2), make_ranking(10, 8, 4, random_state=3)
>>> ranker = {name}({first}).fit(train, eval_set=vali)
>>> ranker.score(vali) > 0.7
True
"""


def positional(*, default: object, kw_only: Literal[False] = False) -> Any:
    """Return a default that declares a parameter as positional; all others are keyword-only."""
    return field(default=default, kw_only=kw_only)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(positional,))
def estimator(cls: Estimator) -> Estimator:
    """Make a class of annotated parameters an estimator: constructor and documentation."""
    built: Any = dataclass(eq=False, repr=False, kw_only=True, match_args=False)(cls)
    # Type checkers read the class; help() would show the whole of each declaration.
    built.__init__.__annotations__ = {
        name: parameter.annotation for name, parameter in parameters_of(built).items()
    }
    built.__init__ = _understanding(built.__init__)
    built.__doc__ = _documented(built)
    return built


def _documented(cls: type) -> str:
    """Return the docstring of a class with its declared parameters, inherited attributes and an example."""
    sections = _sections(cls)
    summary = sections.pop("")
    declared = (
        f"{parameter.heading}\n{_indented(parameter.sentence)}\n" for parameter in parameters_of(cls).values()
    )
    inherited = filter(None, (_sections(base).get("Attributes") for base in cls.__mro__[1:]))
    entries = {
        "Parameters": sections.pop("Parameters", "") + "".join(declared),
        "Attributes": sections.pop("Attributes", "") + next(inherited, ""),
        **sections,
    }
    if not summary.startswith("Base class"):
        # The positional parameter, as it is written in a call.
        positionals = (
            parameter for parameter in fields(cls) if parameter.kw_only is False and parameter.default
        )
        first = next((f'{parameter.name}="{parameter.default}"' for parameter in positionals), "")
        entries.setdefault("Examples", EXAMPLE.format(name=cls.__name__, first=first))
    texts = (f"{heading}\n{'-' * len(heading)}\n{text}" for heading, text in entries.items())
    return "\n".join([summary, *texts])


@cache  # Methods share most of their parameters.
def _indented(sentence: str) -> str:
    return textwrap.indent(textwrap.fill(sentence, 106), "    ")


def _sections(cls: type) -> dict[str, str]:
    """Return the texts of a docstring by their headings; what comes before the first has none."""
    summary, *pieces = re.split(r"^(\w[\w ]*)\n-+\n", f"{inspect.cleandoc(cls.__doc__ or '')}\n", flags=re.M)
    bodies = (f"{section.rstrip()}\n" for section in pieces[1::2])
    return {"": f"{summary.rstrip()}\n", **dict(zip(pieces[::2], bodies, strict=True))}

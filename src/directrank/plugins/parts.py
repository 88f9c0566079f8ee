"""The things that a plug-in adds: which kind each is, and what it lacks."""

import inspect
import re
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, ClassVar, get_origin

from directrank.contracts import Measure, Solver, Surrogate
from directrank.errors import PluginError
from directrank.estimators.method import Method
from directrank.estimators.ranker import Ranker
from directrank.measures.families.definition import Definition

_METHOD_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class Kind(Enum):
    """What a thing of a plug-in is."""

    MEASURE = "measure"
    SURROGATE = "surrogate"
    SOLVER = "solver"
    METHOD = "method"


#: Of each kind its class, and what a thing must have, with what it is.
NEEDED: dict[Kind, tuple[type, dict[str, str]]] = {
    Kind.MEASURE: (
        Measure,
        {
            "meaning": "one sentence for newcomers",
            "name": "its canonical name; inherit from Definition to get one",
            "query_values": "the value of each query",
        },
    ),
    Kind.SURROGATE: (
        Surrogate,
        {
            "offers": "the oracles of its bound form, such as frozenset({ValueAndGradient})",
            "is_bound": "whether it lies above 1 − E",
            "is_convex": "whether it is convex in the scores",
            "is_smooth": "whether its derivative is continuous",
            "bind": "from queries and weights to its oracles",
        },
    ),
    Kind.SOLVER: (
        Solver,
        {"needs": "the oracles that it calls", "solve": "from an objective to a Solution"},
    ),
}


def kind_of(thing: Any) -> Kind | None:
    """Return what a class or an object is, by what it inherits from."""
    if isinstance(thing, Method):
        return Kind.METHOD
    bases = (thing if isinstance(thing, type) else type(thing)).__mro__
    return next((kind for kind, (base, _) in NEEDED.items() if base in bases), None)


def place_of(thing: Any, origin: str) -> str:
    """Return the file and the line of the class of a thing, as far as they are known."""
    cls = thing.estimator if isinstance(thing, Method) else thing if isinstance(thing, type) else type(thing)
    try:
        return f"{inspect.getsourcefile(cls) or origin}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return origin


def whole(thing: Any, origin: str = "") -> Any:
    """Return the object of a class or object that a plug-in adds.

    Raises
    ------
    PluginError
        If it is none of a plug-in's kinds, lacks something, or its class cannot make an object.
    """
    kind, place = kind_of(thing), place_of(thing, origin)
    if kind is None:
        raise PluginError(f"{place}: {_what(thing)}")
    if kind is Kind.METHOD:
        return _checked_method(thing, origin)
    cls = thing if isinstance(thing, type) else type(thing)
    for name, what in NEEDED[kind][1].items():
        if getattr(cls, name, None) is getattr(NEEDED[kind][0], name, None) and not _set(thing, name):
            raise PluginError(f"{place}: the {kind.value} {cls.__name__} lacks {name}, {what}")
    if kind is Kind.MEASURE and _forgot_dataclass(cls):
        raise PluginError(f"{place}: {cls.__name__} has parameters: write @dataclass(frozen=True) above it")
    return thing if not isinstance(thing, type) else _made(cls, kind, place)


def _set(thing: Any, name: str) -> bool:
    """Whether an object has an attribute of its own of this name."""
    return not isinstance(thing, type) and name in getattr(thing, "__dict__", ())


def _made(cls: type, kind: Kind, place: str) -> Any:
    if kind is Kind.MEASURE and issubclass(cls, Definition) and cls.cutoff_is() == "required":
        return cls(cutoff=1)  # type: ignore[call-arg]
    try:
        return cls()
    except Exception as error:  # whatever code of a user raises
        raise PluginError(
            f"{place}: {cls.__name__}() raises {type(error).__name__}: {error}; put an object with its "
            f"arguments into PLUGINS, such as {cls.__name__}(…)"
        ) from error


def _forgot_dataclass(cls: type) -> bool:
    """Whether a measure has parameters that the dataclass above it does not know."""
    fields = [name for name, hint in inspect.get_annotations(cls).items() if not _is_of_the_class(hint)]
    return bool(fields) and not ("__dataclass_fields__" in cls.__dict__ and is_dataclass(cls))


def _is_of_the_class(hint: Any) -> bool:
    return hint is ClassVar or get_origin(hint) is ClassVar or "ClassVar" in str(hint)


def _checked_method(method: Method, origin: str) -> Method:
    place = place_of(method, origin)
    if not _METHOD_NAME.fullmatch(method.name):
        raise PluginError(
            f"{place}: the name of the method {method.name!r} must be small letters, digits, - and _"
        )
    if not (isinstance(method.estimator, type) and issubclass(method.estimator, Ranker)):
        raise PluginError(f"{place}: the estimator of the method {method.name} must be a class of rankers")
    return method


def _what(thing: Any) -> str:
    """Return what is expected in place of a thing that is no plug-in."""
    if isinstance(thing, type) and issubclass(thing, Ranker):
        name = thing.__name__
        return f'{name} is a ranker without a name: put Method("a-name", {name}) into PLUGINS'
    name = thing.__name__ if hasattr(thing, "__name__") else repr(thing)
    return (
        f"{name} is no plug-in: PLUGINS holds classes and objects that inherit from Measure, Surrogate or "
        "Solver, and methods"
    )

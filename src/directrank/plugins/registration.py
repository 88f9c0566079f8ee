"""What plug-ins add: its names, and why something incomplete, or a name in use, is refused."""

import inspect
import re
from dataclasses import dataclass, is_dataclass
from enum import Enum
from typing import Any, ClassVar, get_origin

from directrank.contracts import Measure, Solver, Surrogate
from directrank.errors import PluginError, UnfitPairError
from directrank.estimators import methods
from directrank.estimators.method import Method
from directrank.estimators.methods import method_of_surrogate
from directrank.estimators.ranker import Ranker
from directrank.measures import names as measures
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
        # An object may have an attribute of its own.
        is_set = not isinstance(thing, type) and name in getattr(thing, "__dict__", ())
        if getattr(cls, name, None) is getattr(NEEDED[kind][0], name, None) and not is_set:
            raise PluginError(f"{place}: the {kind.value} {cls.__name__} lacks {name}, {what}")
    # A measure may have parameters that the dataclass above it does not know.
    hints = inspect.get_annotations(cls).values()
    declares = any(not (get_origin(hint) is ClassVar or "ClassVar" in str(hint)) for hint in hints)
    is_made = "__dataclass_fields__" in cls.__dict__ and is_dataclass(cls)
    if kind is Kind.MEASURE and declares and not is_made:
        raise PluginError(f"{place}: {cls.__name__} has parameters: write @dataclass(frozen=True) above it")
    return thing if not isinstance(thing, type) else _made(cls, kind, place)


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


@dataclass(frozen=True)
class PlugIn:
    """What was loaded from one file or package.

    Attributes
    ----------
    origin : str
        The file, or the name of the entry point and its package.
    things : tuple
        What it adds: measures, surrogates, solvers (classes or objects) and methods.
    digest : str
        SHA-256 of the file, in hex.
    source : bytes or None
        The text of the file.
    """

    origin: str
    things: tuple[Any, ...]
    digest: str = ""
    source: bytes | None = None


#: Every plug-in that was loaded, by origin.
LOADED: dict[str, PlugIn] = {}
#: The names that each of them gave, in the tables of measures and methods.
_NAMES: dict[str, tuple[dict[str, Any], dict[str, Method]]] = {}


def register(plugin: PlugIn) -> PlugIn:
    """Give what a plug-in adds its names, in place of what the same file or package added before.

    Raises
    ------
    PluginError
        If something is incomplete, or a name is in use; then nothing changes.
    """
    named = _named(plugin)
    forget(plugin.origin)
    LOADED[plugin.origin], _NAMES[plugin.origin] = plugin, named
    measures.OWN.update(named[0])
    methods.OWN.update(named[1])
    return plugin


def forget(origin: str) -> None:
    """Take back the names that a file or package gave."""
    LOADED.pop(origin, None)
    for table, names in zip((measures.OWN, methods.OWN), _NAMES.pop(origin, ({}, {})), strict=True):
        for name in names:
            table.pop(name, None)


def methods_of(thing: Any, origin: str) -> list[Method]:
    """Return the methods that a thing of a plug-in makes: a `Method` itself, and that of a surrogate."""
    if isinstance(thing, Method):
        return [thing]
    if kind_of(thing) is not Kind.SURROGATE:
        return []
    surrogate = whole(thing, origin)
    method = method_of_surrogate(surrogate)
    try:
        method.estimator(**method.fixed).checked()
    except UnfitPairError:  # it needs a solver other than L-BFGS, in a method of its own
        return []
    return [method]


def _named(plugin: PlugIn) -> tuple[dict[str, Any], dict[str, Method]]:
    """Return measures and methods of a plug-in by name."""
    own_measures: dict[str, Any] = {}
    own_methods: dict[str, Method] = {}
    for thing in plugin.things:
        whole(thing, plugin.origin)
        if kind_of(thing) is Kind.MEASURE:
            measure = thing if isinstance(thing, type) and issubclass(thing, Definition) else whole(thing)
            name = measure.bare_name if isinstance(measure, type) else measure.name
            _check_free(name, thing, plugin.origin, "measure", _taken_measures(plugin.origin, own_measures))
            own_measures[name] = measure
        for method in methods_of(thing, plugin.origin):
            for name in (method.name, *method.aliases):
                _check_free(name, thing, plugin.origin, "method", _taken_methods(plugin.origin, own_methods))
            own_methods[method.name] = method
    return own_measures, own_methods


def _taken_measures(origin: str, here: dict[str, Any]) -> dict[str, str]:
    """Return who has each name of a measure, in lower case."""
    taken = {word: "directrank" for each in measures.MEASURES for word in (each.bare_name, *each.aliases)}
    others = {name: each for each, (names, _) in _NAMES.items() for name in names if each != origin}
    return {name.lower(): by for name, by in {**taken, **others, **dict.fromkeys(here, origin)}.items()}


def _taken_methods(origin: str, here: dict[str, Method]) -> dict[str, str]:
    """Return who has each name of a method."""
    taken = {word: "directrank" for each in methods.METHODS for word in (each.name, *each.aliases)}
    others = {name: each for each, (_, names) in _NAMES.items() for name in names if each != origin}
    return {**taken, **others, **dict.fromkeys(here, origin)}


def _check_free(name: str, thing: Any, origin: str, kind: str, taken: dict[str, str]) -> None:
    by = taken.get(name.lower())
    if by is not None:
        how = "class or its bare_name" if isinstance(thing, Measure) or kind == "measure" else kind
        who = "directrank" if by == "directrank" else by
        raise PluginError(
            f"{place_of(thing, origin)}: the name {name} is in use by a {kind} of {who}; rename the {how}"
        )

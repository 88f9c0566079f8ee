"""Give what plug-ins add its names; refuse what is incomplete, and names in use."""

from dataclasses import dataclass
from typing import Any

from directrank.contracts import Measure
from directrank.errors import PluginError, UnfitPairError
from directrank.estimators import methods
from directrank.estimators.method import Method
from directrank.estimators.objects import method_of_surrogate
from directrank.measures import table as measures
from directrank.measures.families.definition import Definition
from directrank.plugins.parts import Kind, kind_of, place_of, whole


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

"""The table of methods: names that can be trained, and what rankers and surrogates are as methods."""

from collections.abc import Sequence

from directrank.contracts import Measure, Surrogate
from directrank.estimators.linear_ranker import SurrogateRanker
from directrank.estimators.method import (
    PENALTIES,
    Configured,
    Method,
    configured_method,
    configured_one,
    grid_points,
    in_order,
)
from directrank.estimators.presets.table import PRESETS
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.measures.names import split_specs
from directrank.registries import bundled

#: Parameters of a ranker that a comparison sets itself.
OF_THE_COMPARISON = ("measure", "select_by", "random_state", "n_jobs")


def method_of_surrogate(surrogate: Surrogate) -> Method:
    """Return the method of a surrogate: called as its class, in lower case, with a grid of penalties."""
    text = (type(surrogate).__doc__ or "").strip().splitlines()
    meaning = text[0].rstrip(".") if text else f"{surrogate.name}, minimised by L-BFGS with an L2 penalty"
    return Method(
        type(surrogate).__name__.lower(),
        SurrogateRanker,
        meaning[0].lower() + meaning[1:],
        fixed={"surrogate": surrogate},
        grid=PENALTIES,
    )


def of_ranker(ranker: Ranker, select_by: Measure) -> Configured:
    """Return a ranker as a method without a grid, with all its parameters.

    A comparison sets the seed and the number of threads. `select_by` is that of the comparison unless the
    ranker has its own.
    """
    parameters = ranker.get_params(deep=False)
    fixed = {name: value for name, value in parameters.items() if name not in OF_THE_COMPARISON}
    measure, selected_by = parameters.get("measure"), parameters.get("select_by")
    if measure is not None and selected_by is not None:
        fixed["select_by"] = selected_by
    label = label_of(ranker)
    return Configured(
        label,
        Method(label, type(ranker), fixed=fixed),
        None if measure is None else parse_measure(measure),
        select_by if selected_by is None else parse_measure(selected_by),
    )


def label_of(ranker: Ranker) -> str:
    """Return a ranker's class and the parameters that are not at their defaults."""
    defaults = type(ranker)().get_params(deep=False)
    changed = {
        name: value
        for name, value in ranker.get_params(deep=False).items()
        if name not in ("random_state", "n_jobs") and not _equal(value, defaults[name])
    }
    parts = [_word(changed.pop(name)) for name in ("surrogate", "solver", "scorer") if name in changed]
    parts += [f"{name}={_word(value)}" for name, value in changed.items()]
    return type(ranker).__name__ + (f"({', '.join(parts)})" if parts else "")


def _equal(value: object, default: object) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, (str, int, float, bool)) and value == default


def _word(value: object) -> str:
    """Return a value in a few characters."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_word, value))}]"
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


__all__ = ["METHODS", "OWN", "Configured", "Method", "configured", "grid_points", "trains_for"]

#: Every named method, in the order of printing; bundled plug-ins are loaded when it is first read.
METHODS: tuple[Method, ...]


def __getattr__(name: str) -> tuple[Method, ...]:
    if name != "METHODS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    added = [thing for thing in bundled("methods") if isinstance(thing, Method)]
    return globals().setdefault(name, in_order(PRESETS, added))


def _methods() -> tuple[Method, ...]:
    """Return `METHODS`, which may be read for the first time."""
    return globals().get("METHODS") or __getattr__("METHODS")


#: Custom methods that have a name; `directrank.plugins` fills it.
OWN: dict[str, Method] = {}


def configured(
    spec: str | Sequence[str | Configured | Method | Ranker | Surrogate],
    select_by: str | Measure = DEFAULT_MEASURE,
) -> list[Configured]:
    """Return the methods that a comma-separated list names.

    ``all`` names those of directrank that can train, without those that rarely converge. An alias gives the
    method that it is another name of. A sequence may hold objects beside names: a `Configured` or a `Method`,
    a `Ranker` with its parameters, or a `Surrogate`, which L-BFGS minimises.

    Raises
    ------
    ValueError
        If a method is unknown, or a measure is given to one that takes none.
    MeasureNameError
        If the name of a measure is unknown.
    TypeError
        If an object is no method.
    """
    pieces = split_specs(spec) if isinstance(spec, str) else list(spec)
    if "all" in [piece for piece in pieces if isinstance(piece, str)]:
        every = [method.name for method in _methods() if method.in_all]
        pieces = [name for piece in pieces for name in (every if piece == "all" else [piece])]
    if not pieces:
        raise ValueError("no method is named; `all` names every one")
    selection_measure = parse_measure(select_by)
    return [_one(piece, selection_measure) for piece in pieces]


def trains_for(method: Method, measure: str | Measure) -> bool:
    """Return whether a method can train for a measure: because it takes it, or has it."""
    if not method.takes_measure:
        return method.measure is not None and parse_measure(method.measure) == parse_measure(measure)
    try:
        configured_method(method, measure, measure).build().checked()
    except (ValueError, TypeError):
        return False
    return True


def _one(piece: object, selection_measure: Measure) -> Configured:
    """Return the method of a name or an object."""
    if isinstance(piece, Configured):
        return piece
    if isinstance(piece, str):
        return configured_one(piece, (*_methods(), *OWN.values()), selection_measure)
    if isinstance(piece, Method):
        return configured_method(piece, None, selection_measure)
    if isinstance(piece, Ranker):
        return of_ranker(piece, selection_measure)
    if isinstance(piece, Surrogate) and not isinstance(piece, type):
        return configured_method(method_of_surrogate(piece), None, selection_measure)
    what = f"the class {piece.__name__}; give an object" if isinstance(piece, type) else repr(piece)
    raise TypeError(f"a method is a name, a Method, a Ranker or a Surrogate, not {what}")

"""The table of methods: the names that the command line and a comparison can train."""

from collections.abc import Sequence

from directrank.contracts import Measure, Surrogate
from directrank.estimators.committees import AutoRanker
from directrank.estimators.method import (
    Configured,
    Method,
    configured_method,
    configured_one,
    split_specs,
)
from directrank.estimators.objects import method_of_surrogate, of_ranker
from directrank.estimators.presets.table import PRESETS
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE, parse_measure

__all__ = ["METHODS", "OWN", "Configured", "Method", "configured"]

#: Every named method, in the order of printing.
METHODS = (*PRESETS, Method("auto", AutoRanker, takes_measure=True))

#: Methods of one's own that have a name; `directrank.plugins` fills it.
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
        every = [method.name for method in METHODS if method.installed and method.in_all]
        pieces = [name for piece in pieces for name in (every if piece == "all" else [piece])]
    if not pieces:
        raise ValueError("no method is named; `all` names every one")
    chooser = parse_measure(select_by)
    return [_one(piece, chooser) for piece in pieces]


def _one(piece: object, chooser: Measure) -> Configured:
    """Return the method of a name or an object."""
    if isinstance(piece, Configured):
        return piece
    if isinstance(piece, str):
        return configured_one(piece, (*METHODS, *OWN.values()), chooser)
    if isinstance(piece, Method):
        return configured_method(piece, None, chooser)
    if isinstance(piece, Ranker):
        return of_ranker(piece, chooser)
    if isinstance(piece, Surrogate) and not isinstance(piece, type):
        return configured_method(method_of_surrogate(piece), None, chooser)
    what = f"the class {piece.__name__}; give an object" if isinstance(piece, type) else repr(piece)
    raise TypeError(f"a method is a name, a Method, a Ranker or a Surrogate, not {what}")

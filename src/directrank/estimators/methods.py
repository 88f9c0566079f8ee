"""The table of methods: the names that the command line and a comparison can train."""

from collections.abc import Sequence

from directrank.estimators.committees.auto import AutoRanker
from directrank.estimators.method import Configured, Method, configured_one, split_specs
from directrank.estimators.presets.table import PRESETS
from directrank.measures import parse_measure

__all__ = ["METHODS", "Configured", "Method", "configured"]

#: Every named method, in the order of printing.
METHODS = (*PRESETS, Method("auto", AutoRanker, takes_measure=True))


def configured(spec: str | Sequence[str | Configured], select_by: str = "AP") -> list[Configured]:
    """Return the methods that a comma-separated list names; ``all`` names every one that is installed.

    A sequence may hold `Configured` methods of your own beside names. An alias gives the method that it is
    another name of.

    Raises
    ------
    ValueError
        If a method is unknown, or a measure is given to one that takes none.
    MeasureNameError
        If the name of a measure is unknown.
    """
    pieces = split_specs(spec) if isinstance(spec, str) else list(spec)
    if pieces == ["all"]:
        pieces = [method.name for method in METHODS if method.installed]
    if not pieces:
        raise ValueError("no method is named; `all` names every one")
    chooser = parse_measure(select_by).name
    return [
        piece if isinstance(piece, Configured) else configured_one(piece, METHODS, chooser)
        for piece in pieces
    ]

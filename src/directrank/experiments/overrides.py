"""Settings and grids that replace those of the methods compared."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from directrank.estimators.parameters.allowed import parameters_of
from directrank.experiments.options import of_option
from directrank.experiments.rivals.named import methods_of
from directrank.experiments.rivals.rival import AnyMethod, Rival
from directrank.measures import DEFAULT_MEASURE

#: Constructor parameters that a comparison sets itself, and the remedy.
SET_ELSEWHERE = {
    "measure": "write the measure in brackets after the name of the method, as in adarank(AP)",
    "select_by": "use --select-by (select_by= in Python)",
    "random_state": "use --seed (seed= in Python)",
}


def overridden(
    methods: Sequence[AnyMethod], settings: Mapping[str, Any], grids: Mapping[str, Sequence[Any]]
) -> list[Any]:
    """Return methods with some of their parameters fixed, and with other grids.

    Parameters
    ----------
    methods : sequence of Configured or Rival
    settings : mapping of str to value
        A key is a parameter, such as ``penalty``, for all methods that have it; or a method and its
        parameter, such as ``ranksvm.penalty``, which takes precedence. A parameter that is set leaves the
        grid.
    grids : mapping of str to sequence of values
        The values that the validation set chooses from; keys are as in `settings`.

    Raises
    ------
    ValueError
        If no method has such a parameter, or it does not take a value.
    """
    found = list(methods)
    for option, changes in (("settings", settings), ("grids", grids)):
        for key in sorted(changes, key=lambda key: "." in key):
            with of_option(option, key):
                found = _changed(found, key, changes[key], in_grid=option == "grids")
    return found


def _changed(methods: Sequence[AnyMethod], key: str, value: Any, *, in_grid: bool) -> list[AnyMethod]:
    prefix, _, parameter = key.rpartition(".")
    if parameter in SET_ELSEWHERE:
        raise ValueError(f"{parameter} cannot be set here; {SET_ELSEWHERE[parameter]}")
    named = _named(methods, prefix) if prefix else methods
    having = [each.label for each in named if parameter in _defaults(each)]
    if not having:
        raise ValueError(_unknown(parameter, named))
    return [_with(each, parameter, value, in_grid) if each.label in having else each for each in methods]


def _with(chosen: AnyMethod, parameter: str, value: Any, in_grid: bool) -> AnyMethod:
    values = tuple(value) if in_grid else (value,)
    if not values:
        raise ValueError("a grid needs one value or more")
    declared = {} if isinstance(chosen, Rival) else parameters_of(chosen.method.estimator)
    for each in values if parameter in declared else ():
        declared[parameter].check(each, chosen.label)
    fixed, grid = dict(chosen.method.fixed), dict(chosen.method.grid)
    if in_grid:
        fixed.pop(parameter, None)
        grid[parameter] = values
    else:
        grid.pop(parameter, None)
        fixed[parameter] = value
    if isinstance(chosen, Rival):
        return replace(chosen, fixed=fixed, grid=grid)
    return replace(chosen, method=replace(chosen.method, fixed=fixed, grid=grid))


def _named(methods: Sequence[AnyMethod], name: str) -> list[AnyMethod]:
    """Return the methods that have a label, or a name."""
    found = [each for each in methods if name in (each.label, isinstance(each, Rival) and each.name)]
    if not found:
        (wanted,) = methods_of([name], getattr(methods[0], "select_by", DEFAULT_MEASURE))
        found = [each for each in methods if "(" not in name and each.method.name == wanted.method.name]
    if not found:
        raise ValueError(f"{name} is not one of the methods: {', '.join(each.label for each in methods)}")
    return found


def _defaults(chosen: AnyMethod) -> dict[str, Any]:
    if isinstance(chosen, Rival):
        return chosen.parameters()
    return chosen.method.estimator().get_params(deep=False)


def _unknown(parameter: str, methods: Sequence[AnyMethod]) -> str:
    known = dict.fromkeys(name for each in methods for name in _defaults(each) if name not in SET_ELSEWHERE)
    near = get_close_matches(parameter, known, 1)
    advice = f"did you mean {near[0]}? " if near else ""
    who = f"{methods[0].method.name} has no" if len(methods) == 1 else "no method has a"
    return f"{who} parameter {parameter!r}; {advice}known: {', '.join(known)}"

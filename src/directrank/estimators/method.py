"""`Method`: a row of the table of methods. `Configured`: a method with its measure, as a name gives it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from types import MappingProxyType
from typing import Any, Self

from directrank.contracts import Measure
from directrank.estimators.literals import value_of
from directrank.estimators.parameters import Grid, Parameters, Point, parameters_of, unknown_parameter
from directrank.estimators.ranker import Ranker
from directrank.estimators.synonyms import our_name
from directrank.measures import parse_measure
from directrank.measures.names import name_of, split_specs

#: The penalties that a comparison tries. Every objective is 1 at zero scores, so one list suits all methods.
PENALTIES = {"penalty": (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)}


@dataclass(frozen=True)
class Method:
    """One entry of the table of methods.

    Parameters
    ----------
    name : str
        Its name on the command line.
    estimator : type
        A `Ranker`.
    summary : str, optional
        What it does, in one line; by default the first line of the estimator's docstring.
    paper : str, optional
        Where it was published.
    measure : str or Measure, optional
        The measure that the name fixes.
    takes_measure : bool, default=False
        Whether a measure can be given in brackets.
    fixed : mapping
        Constructor parameters that the name fixes.
    grid : mapping of str to tuple
        Hyper-parameters that a comparison selects on the validation set.
    aliases : tuple of str
        Other names of the same method.
    in_all : bool, default=True
        Whether ``all`` names it; not if it rarely converges and ranks no better than others.
    after : str, optional
        Of a plug-in: the method after which it is listed; by default the last.
    """

    name: str
    estimator: type[Ranker]
    summary: str = ""
    paper: str = ""
    measure: str | Measure | None = None
    takes_measure: bool = False
    fixed: Parameters = field(default_factory=dict)
    grid: Mapping[str, tuple] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    in_all: bool = True
    after: str = ""

    def __post_init__(self) -> None:
        line = (self.estimator.__doc__ or "?").splitlines()[0].rstrip(".")
        object.__setattr__(self, "summary", self.summary or line[0].lower() + line[1:])


def in_order(methods: Sequence[Method], added: Iterable[Method]) -> tuple[Method, ...]:
    """Return the methods of a table and those that plug-ins add, each after the one that it names."""
    table = list(methods)
    for method in added:
        places = [place for place, before in enumerate(table, 1) if before.name == method.after]
        table.insert(places[0] if places else len(table), method)
    return tuple(table)


def grid_points(grid: Grid) -> list[Point]:
    """Return the points of a grid: one dict of parameters for each."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


@dataclass(frozen=True)
class Configured:
    """A method with its measure, such as ``adarank(nDCG@5)``, and the measure that selects."""

    label: str
    method: Method
    measure: str | Measure | None
    select_by: str | Measure

    def points(self, fewer: Grid = MappingProxyType({})) -> list[Point]:
        """Return the grid, with fewer values of some parameters: one dict of parameters for each point.

        Of points that differ in nothing but parameters without effect, the first.
        """
        points: list[Point] = []
        effects: list[Point] = []
        grid = {name: fewer.get(name, values) for name, values in self.method.grid.items()}
        for point in grid_points(grid):
            idle = point.keys() & self.build(point).idle_parameters()
            effect = {name: value for name, value in point.items() if name not in idle}
            if not idle or effect not in effects:
                points.append(point)
                effects += [effect] * bool(idle)
        return points

    def parameters(self) -> Point:
        """Return the parameters of the estimator with their defaults."""
        return self.method.estimator().get_params(deep=False)

    def check(self, point: Parameters) -> None:
        """Raise `ValueError` if a point of the grid cannot be set."""
        self.build(point).checked()

    def check_value(self, parameter: str, value: object) -> None:
        """Raise `ValueError` if a declared parameter does not take a value."""
        declared = parameters_of(self.method.estimator)
        if parameter in declared:
            declared[parameter].check(value, self.label)

    def changed(self, fixed: Parameters, grid: Grid) -> Self:
        """Return the method with other fixed parameters and another grid."""
        values = {name: tuple(points) for name, points in grid.items()}
        return replace(self, method=replace(self.method, fixed=fixed, grid=values))

    def labelled(self, label: str) -> Self:
        """Return the method with another label."""
        return replace(self, label=label)

    def build(self, parameters: Parameters | None = None, random_state: int = 0) -> Ranker:
        """Return an unfitted ranker at a point of the grid.

        A method that trains for a measure keeps its best round or start by that measure; `select_by` chooses
        among points, and inside methods that have no measure of their own.
        """
        trained = {"select_by": self.select_by} if self.measure is None else {"measure": self.measure}
        arguments: Any = {**self.method.fixed, **(parameters or {}), **trained}
        return self.method.estimator(**arguments, random_state=random_state)


#: A parameter with its value, in the brackets of a method.
_SETTING = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)")
_SPEC = re.compile(r"([A-Za-z][\w-]*)\s*(?:\((.*)\))?$")


def parts_of(piece: str) -> tuple[str, str, list[re.Match[str]]]:
    """Return the name in a piece of a list, the measure in its brackets, "" without, and the parameters."""
    match = _SPEC.match(piece)
    name, inner = (match.group(1).lower(), match.group(2)) if match else (piece, None)
    words = split_specs(inner or "")
    settings = [match for match in map(_SETTING.fullmatch, words) if match]
    return name, ", ".join(word for word in words if not _SETTING.fullmatch(word)), settings


def configured_one(piece: str, table: Sequence[Method], select_by: str | Measure) -> Configured:
    """Return the method that a piece of a list names, such as ``adarank(nDCG@5)``.

    The brackets may also fix parameters, such as ``lambdaloss(nDCG@5, penalty=0.1)``. Raises ValueError if
    the method is unknown, a measure is given to one that takes none, or a parameter is not one of its.
    """
    name, measure, settings = parts_of(piece)
    by_name = {name: method for method in table for name in (method.name, *method.aliases)}
    if name not in by_name:
        near = get_close_matches(name, by_name, 1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(by_name)}"
        raise ValueError(f"no method is called {piece!r}; {advice}")
    method = by_name[name]
    if measure and not method.takes_measure:
        raise ValueError(f"{name} takes no measure in brackets, but {piece!r} gives one")
    chosen = configured_method(method, measure or None, select_by)
    return _with_settings(chosen, settings) if settings else chosen


def _with_settings(chosen: Configured, settings: Sequence[re.Match[str]]) -> Configured:
    """Return a method with the parameters in its brackets fixed; they leave its grid."""
    fixed: Point = {}
    for setting in settings:
        typed, text = setting.groups()
        names = sorted(chosen.parameters().keys() - {"measure", "select_by"})
        parameter = our_name(typed, names)
        if parameter is None:
            raise ValueError(unknown_parameter(typed, names, chosen.method.estimator, chosen.label))
        fixed[parameter] = value_of(text)
        chosen.check_value(parameter, fixed[parameter])
    grid = {name: values for name, values in chosen.method.grid.items() if name not in fixed}
    inner = [f"{name}={value}" for name, value in fixed.items()]
    label = f"{chosen.label[:-1]}, " if chosen.label.endswith(")") else f"{chosen.label}("
    return chosen.changed({**chosen.method.fixed, **fixed}, grid).labelled(f"{label}{', '.join(inner)})")


def configured_method(method: Method, measure: str | Measure | None, select_by: str | Measure) -> Configured:
    """Return a method that trains for a measure: the one given, else its own, else the one that selects."""
    trained = measure or method.measure or (select_by if method.takes_measure else None)
    trained = None if trained is None else parse_measure(trained)
    label = method.name
    if trained is not None and trained.name != name_of(method.measure):
        label = f"{method.name}({trained.name})"
    return Configured(label, method, trained, select_by)

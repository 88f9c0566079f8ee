"""What a name on the command line stands for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from directrank.estimators.ranker import Ranker


@dataclass(frozen=True)
class Method:
    """A named method.

    Parameters
    ----------
    name : str
        On the command line.
    estimator : type
        A `Ranker`.
    summary, paper : str
        One line each, for people.
    measure : str, optional
        The measure that the name fixes.
    takes_measure : bool, default=False
        Whether a measure can be given in brackets.
    fixed : mapping
        Constructor parameters that the name fixes.
    grid : mapping of str to tuple
        Hyper-parameters that a comparison selects on the validation part.
    """

    name: str
    estimator: type[Ranker]
    summary: str
    paper: str
    measure: str | None = None
    takes_measure: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple] = field(default_factory=dict)


@dataclass(frozen=True)
class Configured:
    """A method with its measure, such as ``adarank(nDCG@5)``, and the measure that selects."""

    label: str
    method: Method
    measure: str | None
    select_by: str

    def points(self) -> list[dict[str, Any]]:
        """Return the grid, one dict of parameters a point."""
        names = list(self.method.grid)
        return [dict(zip(names, values, strict=True)) for values in product(*self.method.grid.values())]

    def build(self, parameters: Mapping[str, Any] | None = None, random_state: int = 0) -> Ranker:
        """Return an unfitted ranker at a point of the grid.

        A method that trains for a measure keeps its best round or start by that measure; `select_by` chooses
        among points, and inside methods that have no measure of their own.
        """
        arguments: dict[str, Any] = {**self.method.fixed, **(parameters or {})}
        if self.measure is None:
            arguments["select_by"] = self.select_by
        else:
            arguments["measure"] = self.measure
        return self.method.estimator(**arguments, random_state=random_state)

"""Training and scoring where the features are in other processes (`directrank.features.workers`)."""

from typing import Any, get_args

from sklearn.base import clone

from directrank.contracts import Solver, Surrogate, fitting_solvers
from directrank.data.groups import QueryGroups
from directrank.errors import UnfitPairError
from directrank.estimators.parameters.allowed import parameters_of
from directrank.solvers import SOLVERS

#: Methods that workers can share, for messages.
OTHERS = "another method, such as approxndcg, ranksvm or adarank"
#: Parameters of rankers that decide whether workers can share the training.
DECIDING = ("solver", "search")


def check_distributed(ranker: Any, surrogate: Surrogate, solver: Solver, groups: QueryGroups) -> None:
    """Raise `UnfitPairError` if features are in other processes, and the solver is no sum over shards."""
    if groups.source.workers is None or solver.sums_over_shards:
        return
    found = {name: values for name in DECIDING if (values := _choices(ranker, surrogate, name))}
    settings = [f"set {name} to {' or '.join(values)}" for name, values in found.items()]
    raise UnfitPairError(
        f"{type(ranker).__name__}: {type(solver).__name__} is no sum over shards, so that workers cannot "
        f"share it: {' or '.join(settings) or f'train {OTHERS}'}, or train in one process"
    )


def _choices(ranker: Any, surrogate: Surrogate, name: str) -> list[str]:
    """Return the values of a ranker's parameter with which workers can share the training."""
    parameter = parameters_of(type(ranker)).get(name)
    if parameter is None:
        able = [each for each in SOLVERS if each.sums_over_shards]
        fitting = [each.__name__ for each in fitting_solvers(surrogate, able)]
        return fitting if name == "solver" and name in ranker.get_params(deep=False) else []
    names = []
    for each in get_args(parameter.kind):
        other: Any = clone(ranker)
        if other.set_params(**{name: each}).components()[1].sums_over_shards:
            names.append(repr(each))
    return names

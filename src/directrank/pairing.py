"""Which surrogate, solver and scorer go together."""

from collections.abc import Sequence

from directrank.contracts import Scorer, Solver, Surrogate
from directrank.errors import UnfitPairError


def check_fit(
    surrogate: Surrogate,
    solver: Solver,
    solvers: Sequence[type[Solver]] = (),
    scorer: Scorer | None = None,
    scorers: Sequence[type] = (),
) -> None:
    """Raise `UnfitPairError` if a surrogate, a solver and a scorer do not fit.

    A solver must find all oracles that it needs, call all that the surrogate requires, and be able to train
    the scorer. The message names those of `solvers` or `scorers` that would do.
    """
    problem = _misfit(surrogate, type(solver))
    fitting = [each.__name__ for each in fitting_solvers(surrogate, solvers)]
    if not problem and scorer is not None and not isinstance(scorer, solver.trains):
        kind = solver.trains.__name__
        problem = f"{type(solver).__name__} needs a scorer of type {kind}; {type(scorer).__name__} is none."
        fitting = [each.__name__ for each in scorers if isinstance(each(), solver.trains)]
    if problem:
        raise UnfitPairError(problem + (f" Use {' or '.join(fitting)}." if fitting else ""))


def fitting_solvers(surrogate: Surrogate, solvers: Sequence[type[Solver]]) -> list[type[Solver]]:
    """Return those of some solvers that can minimise a surrogate."""
    return [each for each in solvers if not _misfit(surrogate, each)]


def _misfit(surrogate: Surrogate, solver: type[Solver]) -> str:
    """Return why a kind of solver cannot minimise a surrogate, or nothing if it can."""
    called = solver.needs | solver.uses
    if missing := solver.needs - surrogate.offers:
        offers = _names_of(surrogate.offers)
        return f"{solver.__name__} needs {_names_of(missing)}; {surrogate.name} offers {offers}."
    if missing := surrogate.requires - called:
        return f"{surrogate.name} requires {_names_of(missing)}; {solver.__name__} uses {_names_of(called)}."
    if solver.convex_only and not surrogate.is_convex:
        return f"{solver.__name__} needs a convex surrogate; {surrogate.name} is not."
    return ""


def _names_of(oracles: frozenset[type]) -> str:
    """Return the names of some oracles, in alphabetical order."""
    return ", ".join(sorted(each.__name__ for each in oracles))

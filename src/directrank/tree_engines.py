"""Libraries that grow trees for `TreeRanker`; those in `directrank.integrations` register themselves."""

from collections.abc import Callable

#: From the name of a library to a function that imports and returns its solver.
ENGINES: dict[str, Callable[[], type]] = {}


def register_engine(name: str) -> Callable[[Callable[[], type]], Callable[[], type]]:
    """Make a function what returns the solver of a library."""

    def register(solver: Callable[[], type]) -> Callable[[], type]:
        ENGINES[name] = solver
        return solver

    return register

"""What a surrogate may be able to do beside its oracles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from directrank.contracts import Surrogate

if TYPE_CHECKING:
    from directrank.data.queries import Queries


@runtime_checkable
class Annealed(Surrogate, Protocol):
    """A surrogate that is reached through easier ones."""

    def easier(self) -> Sequence[Surrogate]:
        """Return the surrogates to minimise before it, easiest first, each from where the last one ended."""
        ...


@runtime_checkable
class Estimated(Surrogate, Protocol):
    """A surrogate that takes something from the training queries as a whole, before it is bound to parts."""

    def estimated(self, queries: "Queries", weights: np.ndarray) -> Surrogate:
        """Return the surrogate with what these queries, each of some weight, tell."""
        ...

"""The plug-in of a surrogate on all queries of which parts have their own oracles."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.contracts import Surrogate
from directrank.data.queries import Queries
from directrank.oracles import Part, Reweighable


def gradient_plugin(
    surrogate: Surrogate, queries: Queries, weights: np.ndarray, parts: Sequence[Part]
) -> Any:
    """Return what `directrank.kernels.plugins.query_gradient` reads.

    Where weights follow a ranking, the parts, in order and of all queries, write theirs to its arrays.
    """
    if Reweighable in surrogate.offers:
        oracles = [part.oracles for part in parts]
        return oracles[0].joined_plugin(queries, weights, oracles)
    return surrogate.bind(queries, weights).gradient_plugin()

"""What defines a feature: a name, a sentence, a function of the matches in a field, and its parameters."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Definition(NamedTuple):
    """A feature that can be computed from any field.

    Attributes
    ----------
    name : str
    meaning : str
        Its formula; q are the terms of the query and d those of the field of the document, tf, df and cf as
        in `Matches`, N is n_docs and |C| collection_length.
    compute : callable
        From `Matches` and the parameters to an array of shape (n_pairs,).
    parameters : mapping of str to float
        With their defaults.
    """

    name: str
    meaning: str
    compute: Callable[..., np.ndarray]
    parameters: Mapping[str, Any] = {}

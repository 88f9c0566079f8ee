"""Python source without dependencies: a module with `score(x)`."""

import numpy as np

from directrank.apps.engines.function import Function, Target, Version, Written
from directrank.apps.engines.tables import ORDER, tables

CODE = '''"""A ranking function, written by directrank. It needs no package."""

import array
import math
from math import nan

{tables}


def score(x):
    """Return the score of a document, x: its features in the order of NAMES, None or nan if missing."""
    x = array.array("{kind}", [nan if value is None else value for value in x])
    if len(x) != len(NAMES):
        raise ValueError(f"expected {{len(NAMES)}} features, not {{len(x)}}")
    total = {intercept!r}
    for feature, logarithm, weight, fill in zip(TERM, LOGARITHM, WEIGHT, FILL):
        value = fill if x[feature] != x[feature] else x[feature]
        total += weight * (math.copysign(math.log1p(abs(value)), value) if logarithm else value)
    for root in ROOT:
        node = root
        while LEFT[node] >= 0:
            value, rule = x[FEATURE[node]], MISSING[node]
            if value != value or (rule >= 2 and abs(value) <= {zero!r}):
                left = rule & 1
            else:
                left = value <= THRESHOLD[node]
            node = root + (LEFT[node] if left else RIGHT[node])
        total += VALUE[node]
    return total
'''


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the module."""
    data = tables(function)
    lines = [f"{name} = {values!r}" for name, values in {**data.integers, **data.numbers}.items()]
    text = CODE.format(
        tables="\n".join(["NAMES = [" + ", ".join(map(ascii, function.names)) + "]", *lines]),
        kind="f" if data.float32 else "d", intercept=function.intercept, zero=data.zero,
    )  # fmt: skip
    return Written(text.encode(), (ORDER,))


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the module."""
    module: dict = {}
    exec(compile(content, "model.py", "exec"), module)
    return np.array([module["score"](row) for row in features.tolist()])


TARGET = Target("python", "Python source", write, scores, "Python")

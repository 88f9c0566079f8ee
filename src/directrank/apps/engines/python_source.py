"""Python source without dependencies: a module with `score(x)`."""

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import SOURCE, tables

CODE = '''"""A ranking function, written by directrank. It needs no package."""

import array
import math
from math import nan

{tables}


def score(x):
    """Return the score of a document, x: its features in the order of NAMES, None or nan if missing."""
    if len(x) != len(NAMES):
        raise ValueError(f"expected {{len(NAMES)}} features, not {{len(x)}}")
    numbers = [nan if value is None or at in TEXTS else value for at, value in enumerate(x)]
    categories = [(x[column] in values) != outside for column, values, outside in CATEGORIES]
    x = array.array("{kind}", numbers + categories)
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
    categories = [(data.names.index(each.column), each.values, each.outside) for each in data.categories]
    lines = [
        f"NAMES = {data.names!a}",
        "# Columns of texts; features that are 1 where a column has one of some texts (if True, none).",
        f"TEXTS = {data.texts!r}",
        f"CATEGORIES = {categories!a}",
        *(f"{name} = {values!r}" for name, values in {**data.integers, **data.numbers}.items()),
    ]
    text = CODE.format(
        tables="\n".join(lines),
        kind="f" if data.float32 else "d", intercept=function.intercept, zero=data.zero,
    )  # fmt: skip
    return Written(text.encode(), data.needs)


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the module."""
    module: dict = {}
    exec(compile(content, "model.py", "exec"), module)
    columns = [documents.column(name).tolist() for name in module["NAMES"]]
    return np.array([module["score"](row) for row in zip(*columns, strict=True)])


TARGET = Target("python", SOURCE, write, scores, "Python", writes_all=True, categories=READ)

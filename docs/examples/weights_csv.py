"""A target of export: a table of features and their weights, for linear rankers without logarithms."""

import csv
import io

import numpy as np

from directrank.apps.engines import Documents, Function, Target, Written


def write(function: Function, version=None) -> Written:
    """Return the table; a feature that is missing in the engine is 0 there, and a line says so."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("feature", "weight"))
    for term in function.weighted:
        rows.writerow((function.names[term.feature], repr(term.weight)))
    notes = function.zero_note("a table of weights")
    return Written(text.getvalue().encode(), notes, function.constant_note("a table of weights"))


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores that the table gives, from nothing but its text: what `check` compares with."""
    weights = {row["feature"]: float(row["weight"]) for row in csv.DictReader(io.StringIO(content.decode()))}
    total = np.zeros(len(documents))
    for name, weight in weights.items():
        total += weight * np.nan_to_num(documents.numbers(name).astype(float))
    return total


TARGET = Target(
    "weights-csv", "a table of weights", write, scores, "the table itself",
    kinds=("linear",), zero_for_missing=("linear",),
)  # fmt: skip

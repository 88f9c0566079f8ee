"""The numbers of a function as tables, which the targets of source code loop over."""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from directrank.apps.engines.function import Function
from directrank.scorers.trees import ZERO

#: Features are named in order at the head of every file of source code.
ORDER = "Pass the features of a document in the order of NAMES; a missing value is NaN."


@dataclass(frozen=True)
class Tables:
    """Tables of integers and of numbers by name, the zero of LightGBM, and whether features are float32."""

    integers: dict[str, list[int]]
    numbers: dict[str, list[float]]
    float32: bool
    zero: float = float(ZERO)


def tables(function: Function) -> Tables:
    """Return the tables of a function; a term whose missing values stay missing is filled with NaN."""
    trees, terms = function.trees, function.weighted
    return Tables(
        {
            "TERM": [term.feature for term in terms], "LOGARITHM": [int(term.logarithm) for term in terms],
            "ROOT": trees.root.tolist(), "FEATURE": trees.feature.tolist(), "MISSING": trees.missing.tolist(),
            "LEFT": trees.left.tolist(), "RIGHT": trees.right.tolist(),
        },
        {
            "WEIGHT": [term.weight for term in terms],
            "FILL": [float("nan") if term.fill is None else term.fill for term in terms],
            "THRESHOLD": trees.threshold.tolist(), "VALUE": trees.value.tolist(),
        },
        trees.threshold.dtype.char == "f",
    )  # fmt: skip


def c_text(text: str) -> str:
    """Return a text as a literal of C: bytes that are not plain letters are octal escapes."""
    escaped = re.sub(rb"[^A-Za-z0-9_ .-]", lambda at: b"\\%03o" % at[0][0], text.encode("utf-8", "replace"))
    return f'"{escaped.decode()}"'


def run(files: dict[str, bytes], commands: list[str], features: np.ndarray) -> np.ndarray:
    """Return the float64 numbers that the last of some commands writes of the features that it reads."""
    rows, written = np.ascontiguousarray(features, "<f8").tobytes(), b""
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        for command in commands:
            done = subprocess.run(command.split(), cwd=folder, input=rows, check=True, capture_output=True)
            written = done.stdout
    return np.frombuffer(written, "<f8")

"""The numbers of a function as tables, which the targets of source code loop over."""

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from directrank.apps.engines.documents import Documents, is_text
from directrank.apps.engines.function import Category, Function
from directrank.scorers.trees import ZERO

#: Columns are named in order at the head of every file of source code.
ORDER = "Pass the features of a document in the order of NAMES; a missing value is NaN."
#: What all targets of source code are.
SOURCE = "source code without dependencies, exact; a missing value is NaN"


@dataclass(frozen=True)
class Tables:
    """A function as tables.

    Attributes
    ----------
    names : list of str
        The columns of a document, in order: those of numbers, and those of texts that the function reads.
    categories : list of Category
        Features that are 1 or 0, which are counted from the number of columns on.
    integers, numbers : dict of str to list
        Tables by name.
    float32 : bool
        Whether features are float32.
    zero : float
        The zero of LightGBM.
    """

    names: list[str]
    categories: list[Category]
    integers: dict[str, list[int]]
    numbers: dict[str, list[float]]
    float32: bool
    zero: float = float(ZERO)

    @property
    def texts(self) -> list[int]:
        """The columns of texts."""
        return sorted({self.names.index(each.column) for each in self.categories})

    @property
    def needs(self) -> tuple[str, ...]:
        """What a caller has to know."""
        columns = ", ".join(repr(self.names[at]) for at in self.texts)
        return (ORDER, *([f"Columns of texts: {columns}."] if columns else []))

    def with_codes(self) -> tuple[list[str], dict[str, list[int]]]:
        """Return the texts that categories have, and all tables with the numbers of texts."""
        texts = sorted(
            {(self.names.index(each.column), value) for each in self.categories for value in each.values}
        )
        code = {text: at for at, text in enumerate(texts)}
        members = [
            [code[self.names.index(each.column), value] for value in each.values] for each in self.categories
        ]
        return [value for _, value in texts], {
            **self.integers, "TEXT_COLUMN": [column for column, _ in texts],
            "CATEGORY": [self.names.index(each.column) for each in self.categories],
            "FIRST": [0, *accumulate(map(len, members))], "MEMBERS": [one for row in members for one in row],
            "OUTSIDE": [int(each.outside) for each in self.categories],
        }  # fmt: skip


def tables(function: Function) -> Tables:
    """Return the tables of a function; a term whose missing values stay missing is filled with NaN."""
    trees, terms = function.trees, function.weighted
    categories = [at for at in function.features if at in function.categories]
    read = {at: function.categories[at].column for at in categories}
    names = [*dict.fromkeys(
        read.get(at, name) for at, name in enumerate(function.names)
        if at in read or at not in function.categories
    )]  # fmt: skip
    place = np.array([
        len(names) + categories.index(at) if at in read else names.index(name)
        if at not in function.categories else 0 for at, name in enumerate(function.names)
    ])  # fmt: skip
    return Tables(
        names, [function.categories[at] for at in categories],
        {
            "TERM": place[[term.feature for term in terms]].tolist() if terms else [],
            "LOGARITHM": [int(term.logarithm) for term in terms],
            "ROOT": trees.root.tolist(), "FEATURE": place[trees.feature].tolist(),
            "MISSING": trees.missing.tolist(),
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


def in_bytes(documents: Documents, names: list[str]) -> bytes:
    """Return columns as the programs of tests read them: counts, then of each name, kind and values.

    Numbers are big-endian; a text follows the number of its bytes, which is -1 for a missing one.
    """
    parts = [struct.pack(">ii", len(documents), len(names))]
    for name in names:
        column = documents.column(name)
        parts += [_sized(name), struct.pack("?", is_text(column))]
        parts += map(_sized, column) if is_text(column) else [column.astype(">f8").tobytes()]
    return b"".join(parts)


def _sized(text: str | None) -> bytes:
    content = b"" if text is None else text.encode()
    return struct.pack(">i", -1 if text is None else len(content)) + content


def run(files: dict[str, bytes], commands: list[str], data: bytes) -> np.ndarray:
    """Return the float64 numbers that the last of some commands writes of what it reads."""
    written = b""
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        for name, content in files.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        for command in commands:
            done = subprocess.run(command.split(), cwd=folder, input=data, check=True, capture_output=True)
            written = done.stdout
    return np.frombuffer(written, "<f8")

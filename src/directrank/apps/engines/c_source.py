"""C source without dependencies: one file with `double score(const double *x)`."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from directrank.apps.engines.documents import Documents, is_text
from directrank.apps.engines.function import READ, Function, Target, Version, Written
from directrank.apps.engines.tables import SOURCE, c_text, tables

CODE = """/* A ranking function, written by directrank. Compile with -lm, and without -ffast-math. */
#include <math.h>
#include <string.h>

const int N_FEATURES = %(n)d;
const char *const NAMES[] = {%(names)s};
static const char *const TEXTS[] = {%(texts)s};
%(tables)s

/* What stands for a text in x, in a column of texts; a missing text, as one that is not known, is -1. */
double category(int column, const char *text)
{
    for (int t = 0; t < %(n_texts)d; t++)
        if (TEXT_COLUMN[t] == column && !strcmp(TEXTS[t], text)) return t;
    return -1;
}

/* The score of a document, whose features are in the order of NAMES, a missing one NAN. */
double score(const double *columns)
{
    double x[%(n)d + %(categories)d];
    memcpy(x, columns, sizeof *x * %(n)d);
    for (int t = 0; t < %(categories)d; t++) {
        int has = 0;
        for (int m = FIRST[t]; m < FIRST[t + 1]; m++) has |= columns[CATEGORY[t]] == MEMBERS[m];
        x[%(n)d + t] = has != OUTSIDE[t];
    }
    double total = %(intercept)s;
    for (int t = 0; t < %(terms)d; t++) {
        double value = (%(kind)s)x[TERM[t]];
        if (value != value) value = FILL[t];
        total += WEIGHT[t] * (LOGARITHM[t] ? copysign(log1p(fabs(value)), value) : value);
    }
    for (int t = 0; t < %(trees)d; t++) {
        int node = ROOT[t];
        while (LEFT[node] >= 0) {
            double value = (%(kind)s)x[FEATURE[node]];
            int rule = MISSING[node], left;
            if (value != value || (rule >= 2 && fabs(value) <= %(zero)r)) left = rule & 1;
            else left = value <= THRESHOLD[node];
            node = ROOT[t] + (left ? LEFT[node] : RIGHT[node]);
        }
        total += VALUE[node];
    }
    return total;
}
"""


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the file."""
    data = tables(function)
    texts, tables_of_integers = data.with_codes()
    # An empty array is no C.
    integers = {name: ", ".join(map(str, row or [0])) for name, row in tables_of_integers.items()}
    numbers = {name: ", ".join(map(_number, row or [0.0])) for name, row in data.numbers.items()}
    lines = [f"static const int {name}[] = {{{row}}};" for name, row in integers.items()]
    lines += [f"static const double {name}[] = {{{row}}};" for name, row in numbers.items()]
    text = CODE % {
        "n": len(data.names), "names": ", ".join(map(c_text, data.names)), "tables": "\n".join(lines),
        "texts": ", ".join(map(c_text, texts or [""])), "n_texts": len(texts),
        "categories": len(data.categories),
        "intercept": _number(function.intercept), "kind": "float" if data.float32 else "double",
        "terms": len(data.integers["TERM"]), "trees": len(data.integers["ROOT"]), "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), data.needs)


def _number(value: float) -> str:
    return "NAN" if value != value else repr(value)


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the compiled file."""
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        source, path = Path(folder) / "model.c", Path(folder) / "model.so"
        source.write_bytes(content)
        options = ["-O1", "-ffp-contract=off", "-shared", "-fPIC"]
        subprocess.run(["gcc", *options, "-o", path, source, "-lm"], check=True, capture_output=True)
        library = ctypes.CDLL(str(path))
        score, category = library.score, library.category
        score.restype, score.argtypes = ctypes.c_double, [ctypes.c_void_p]
        category.restype, category.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_char_p]
        count = ctypes.c_int.in_dll(library, "N_FEATURES").value
        columns = []
        for at, name in enumerate((ctypes.c_char_p * count).in_dll(library, "NAMES")):
            column = documents.column(name.decode())
            if is_text(column):
                column = np.array([-1 if text is None else category(at, text.encode()) for text in column])
            columns.append(column.astype(np.float64))
        return np.array([score(row.ctypes.data) for row in np.column_stack(columns)], np.float64)


TARGET = Target("c", SOURCE, write, scores, "gcc", writes_all=True, categories=READ)

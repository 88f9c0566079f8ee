"""C source without dependencies: one file with `double score(const double *x)`."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from directrank.apps.engines.function import Function, Target, Version, Written
from directrank.apps.engines.tables import ORDER, c_text, tables

CODE = """/* A ranking function, written by directrank. Compile with -lm, and without -ffast-math. */
#include <math.h>

const int N_FEATURES = %(n)d;
const char *const NAMES[] = {%(names)s};
%(tables)s

/* The score of a document; x has its features in the order of NAMES, a missing one is NAN. */
double score(const double *x)
{
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
    # An empty array is no C.
    integers = {name: ", ".join(map(str, row or [0])) for name, row in data.integers.items()}
    numbers = {name: ", ".join(map(_number, row or [0.0])) for name, row in data.numbers.items()}
    lines = [f"static const int {name}[] = {{{row}}};" for name, row in integers.items()]
    lines += [f"static const double {name}[] = {{{row}}};" for name, row in numbers.items()]
    text = CODE % {
        "n": len(function.names), "names": ", ".join(map(c_text, function.names)), "tables": "\n".join(lines),
        "intercept": _number(function.intercept), "kind": "float" if data.float32 else "double",
        "terms": len(data.integers["TERM"]), "trees": len(data.integers["ROOT"]), "zero": data.zero,
    }  # fmt: skip
    return Written(text.encode(), (ORDER,))


def _number(value: float) -> str:
    return "NAN" if value != value else repr(value)


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the compiled file."""
    rows = np.ascontiguousarray(features, np.float64)
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        source, library = Path(folder) / "model.c", Path(folder) / "model.so"
        source.write_bytes(content)
        options = ["-O1", "-ffp-contract=off", "-shared", "-fPIC"]
        subprocess.run(["gcc", *options, "-o", library, source, "-lm"], check=True, capture_output=True)
        score = ctypes.CDLL(str(library)).score
        score.restype, score.argtypes = ctypes.c_double, [ctypes.c_void_p]
        return np.array([score(row.ctypes.data) for row in rows], np.float64)


TARGET = Target("c", "C source", write, scores, "gcc")

"""Binning of features for boosting over stumps, beside reading the text of the same documents."""

import tempfile
from pathlib import Path

from benchmarks.case import Case, Work
from benchmarks.kernels.web30k import write_web30k
from directrank.files import read_letor
from directrank.solvers.stumps import HistogramStumps
from directrank.surrogates import ExponentialPairs, Objective

#: About 60 MB of LETOR text: 52,000 documents of 136 features.
SCALE = 60 / 5_500


def binning() -> tuple[Work, Work]:
    """Return binning all features, and reading their text."""
    folder = tempfile.TemporaryDirectory(prefix="directrank-binning-")
    path = Path(folder.name) / "web30k.txt"
    write_web30k(path, SCALE)
    groups = read_letor(path)
    objective = Objective(ExponentialPairs(), groups.queries, groups.shards)

    def reading():
        # The function keeps the folder.
        return read_letor(Path(folder.name) / path.name)

    return lambda: HistogramStumps(objective, groups.features, "eta"), reading


CASES = (
    Case(
        "binning/stumps",
        "256 bins of each of 136 features, 52,000 documents, once a fit",
        "reading the LETOR text of the same documents",
        binning,
        target=3.0,
    ),
)

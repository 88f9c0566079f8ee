"""LETOR text as a format of files: its features have numbers, and no names."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from directrank.data.files.options import ReadOptions
from directrank.data.groups import QueryGroups
from directrank.data.letor.reader import fill_letor, scan_letor
from directrank.data.memory import Allocator, rows_in_memory
from directrank.errors import DataError

ENDINGS = (".txt", ".txt.gz", ".letor", ".svm", ".dat")


class LetorFiles:
    """LETOR files that form one data set, after the first pass over them.

    Attributes
    ----------
    features : int
        The number of features.
    """

    def __init__(self, paths: Sequence[Path], how: ReadOptions):
        self._how = how
        self._scan = scan_letor(
            paths,
            labelled=how.labelled,
            n_features=how.n_features,
            missing=how.missing,
            first_feature=1 if how.first_feature is None else how.first_feature,
            open_file=how.open_file,
        )
        self.features, found = how.n_features or self._scan.n_features, self._scan.n_features
        if how.counts_fit and how.first_feature is None and found != self.features:
            raise DataError(
                f"{self.name}: {found} features, and the model has {self.features}; if it was trained on a "
                "file whose features count from 0 add --first-feature 0 (in Python, first_feature=0), if "
                "the last features are only left out here --first-feature 1"
            )

    @property
    def name(self) -> str:
        """The files' names, for messages."""
        return self._scan.name

    @property
    def qid(self) -> np.ndarray:
        """The name of each query, in order of appearance."""
        return self._scan.qid

    def fill(self, features: int, allocate: Allocator = rows_in_memory) -> QueryGroups:
        """Make the second pass, into so many columns."""
        strict = self._how.n_features is not None
        return fill_letor(self._scan, features, missing=self._how.missing, strict=strict, allocate=allocate)

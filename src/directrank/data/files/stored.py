"""A store as a format of files: its manifest stands for all its files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from directrank.data.files.options import ReadOptions
from directrank.data.groups import QueryGroups
from directrank.data.letor.blocks import plain_file
from directrank.data.store.reading import read_store
from directrank.errors import DataError


class StoredFiles:
    """A store that is a data set.

    Attributes
    ----------
    features : tuple of str, or int
        The names of the features, or their number.
    """

    def __init__(self, paths: Sequence[Path], how: ReadOptions):
        if len(paths) > 1:
            raise DataError(f"{paths[0]}: a store is a whole data set; convert all files into one store")
        # A comparison compares the digests of what it reads.
        if how.open_file is not plain_file:
            with how.open_file(paths[0]) as file:
                while file.read(1 << 20):
                    pass
        self._path, self._stored = paths[0].parent, read_store(paths[0], verify=how.verify)
        names = self._stored.feature_names
        self.features = self._stored.features.shape[1] if names is None else tuple(names)
        if how.features and set(how.features) != set(names or ()):
            raise DataError(f"{self._path}: features of a store are chosen when it is made, by --features")

    @property
    def name(self) -> str:
        """The folder, for messages."""
        return str(self._path)

    @property
    def qid(self) -> np.ndarray:
        """The name of each query."""
        return self._stored.queries.qid

    def fill(self, features: int | Sequence[str]) -> QueryGroups:
        """Return the groups.

        Raises
        ------
        DataError
            If other features are wanted: nothing is copied.
        """
        asked = features if isinstance(features, int) else tuple(features)
        if asked != self.features:
            raise DataError(
                f"{self._path}: the features of this store are not those of the other sets or of the model; "
                "convert all sets with the same --features"
            )
        return QueryGroups.from_inner(**{**self._stored._asdict(), "name": str(self._path)})

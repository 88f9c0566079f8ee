"""Turn files of any format into a store."""

import os
from pathlib import Path
from typing import Any

from directrank.data.files.formats import scan_files
from directrank.data.files.options import ReadOptions
from directrank.data.files.stored import StoredFiles
from directrank.data.groups import QueryGroups
from directrank.data.store.writing import StoreWriter
from directrank.errors import DataError


def convert_data(
    path: str | os.PathLike, folder: str | os.PathLike, *, force: bool = False, **how: Any
) -> QueryGroups:
    """Turn a file of any format into a store: a folder that is opened without reading it into memory.

    Every row of features is written to its final place in the file, so memory holds the labels and the
    queries only.

    Parameters
    ----------
    path : path-like
        As `load_data` takes it: one file.
    folder : path-like
        The store: a new folder, an empty one, or one of ours, whose store is replaced.
    force : bool, default=False
        Take a folder that holds other files, too.
    **how
        Columns and missing values, as `load_data` takes them; and ``n_features``, the number of features
        of LETOR text.

    Returns
    -------
    QueryGroups
        The store, opened.

    Raises
    ------
    DataError
        If the file cannot be used.
    FileExistsError
        If the folder holds files of others.
    OSError
        If the store cannot be written.

    Examples
    --------
    >>> groups = convert_data("train.txt", "train.store")  # doctest: +SKIP
    """
    return converted(Path(path), folder, ReadOptions(**how), force=force)


def converted(path: Path, folder: str | os.PathLike, how: ReadOptions, *, force: bool = False) -> QueryGroups:
    """Turn a file into a store and open it; see `convert_data`."""
    scan: Any = scan_files([path], how)
    if isinstance(scan, StoredFiles):
        raise DataError(f"{path}: is a store already")
    writer = StoreWriter(folder, force=force)
    groups = scan.fill(scan.features, writer.allocate)
    writer.finish(groups.queries, groups.n_features, groups.feature_names, groups.name, groups.labelled)
    return QueryGroups.open(folder, verify=False)

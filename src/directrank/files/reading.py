"""Read files of any format into query groups: one data set, several that share their features, or a store."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.columns import ROLES, Columns, ReadOptions
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, listed
from directrank.files import letor
from directrank.files.forms import JSON, TABLE, form_of
from directrank.files.json_rankings import read_json
from directrank.files.letor import LetorFiles
from directrank.files.logs import FeatureLog
from directrank.files.opening import check_digest
from directrank.files.store import StoreWriter, manifest_of, open_store, read_store
from directrank.files.tables import TABLES, TableFiles, columns_in, table_of

#: Every ending of the name of a table; and of all formats, in the order in which folders are searched.
TABLE_ENDINGS = tuple(ending for table in TABLES for ending in table.endings)
ENDINGS = (*letor.ENDINGS, *TABLE_ENDINGS)


class StoredFiles:
    """A store that is a data set; `features` are the names of the features, or their number."""

    def __init__(self, paths: Sequence[Path], how: ReadOptions):
        if len(paths) > 1:
            raise DataError(f"{paths[0]}: a store is a whole data set; convert all files into one store")
        check_digest(paths[0], how.digests)
        self._path, self._stored = paths[0].parent, read_store(paths[0], verify=how.verify)
        names, self.reading = self._stored.feature_names, self._stored.reading
        self.features = self._stored.features.shape[1] if names is None else tuple(names)
        if how.features and set(how.features) != set(names or ()):
            raise DataError(f"{self._path}: features of a store are chosen when it is made, by --features")
        if how.categorical and set(how.categorical) != set(self._stored.categories):
            raise DataError(f"{self._path}: categories are chosen when a store is made, by --categorical")

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

        Raises DataError if other features are wanted: nothing is copied.
        """
        shape = features if isinstance(features, int) else tuple(features)
        if shape != self.features:
            raise DataError(
                f"{self._path}: this store's features differ from those of the other sets or of the model; "
                "convert all sets with the same --features"
            )
        return QueryGroups.from_inner(**{**self._stored._asdict(), "name": str(self._path)})


def scan_files(paths: Sequence[Path], how: ReadOptions) -> LetorFiles | TableFiles | StoredFiles | FeatureLog:
    """Make the first pass over files that form one data set: relevance, queries and the features they have.

    Raises
    ------
    DataError
        If a file cannot be used, or the files have different formats.
    """
    stores = [manifest for path in paths if (manifest := manifest_of(path)) is not None]
    if how.qrels is not None:
        return FeatureLog(paths[0], how)
    if stores:
        refuse_absent_columns(paths, replace(how, features=None, categorical=None))
        return StoredFiles(stores if len(paths) == 1 else paths, how)
    if not any(map(table_of, paths)) and (how.features is None or len(how.features)):
        refuse_absent_columns(paths, how)
    tables = [table_of(path) for path in paths]
    if len(set(tables)) > 1:
        raise DataError(f"{paths[0]} and {paths[-1]} have different formats; save both in one")
    table = tables[0]
    return LetorFiles(paths, how) if table is None else TableFiles(table, paths, how)


def refuse_absent_columns(sources: Sequence[object], how: ReadOptions) -> None:
    """Raise DataError if a column is named that none of the files has; with a source in memory, never."""
    roles = {f"--{role}": [name] for role in ROLES if (name := getattr(how, role)) is not None}
    patterns = {"--drop": [*how.drop]}
    if how.n_features is None:
        patterns |= {"--features": [*(how.features or ())], "--categorical": [*(how.categorical or ())]}
    paths = [Path(source) for source in sources if isinstance(source, (str, os.PathLike))]
    if len(paths) < len(sources) or not (roles or any(patterns.values())):
        return
    tables = [path for path in paths if manifest_of(path) is None and form_of(path) in (TABLE, JSON)]
    columns = [name for path in tables for name in _names_in(path)]
    for option, names in (roles if tables else roles | patterns).items():
        if absent := [name for name in names if name not in columns]:
            files = listed([str(path) for path in paths])
            why = f"the columns are {listed(columns)}" if tables else "only tables have columns"
            raise DataError(f"{files}: {option} {absent[0]}: there is no such column; {why}")


def columns_of(path: Path, how: ReadOptions) -> Columns | None:
    """Return which column of a file is what; None for LETOR text, which has no columns."""
    table = table_of(path)
    return None if table is None else columns_in(table.schema(path), how, path)


def columns_line(path: Path, how: ReadOptions) -> str:
    """Return one line about which column of a file is what; of LETOR text, which rules are as in training."""
    columns = columns_of(path, how)
    if columns is not None:
        return columns.line()
    rules = [] if manifest_of(path) else how.rules_of_training
    return f"as in training: {', '.join(rules)}; set --missing … --first-feature … to change" if rules else ""


def read_file(path: Path, how: ReadOptions) -> QueryGroups:
    """Read the documents of one file.

    Raises
    ------
    DataError
        If the file cannot be used: names file, column, row and remedy.
    """
    return read_parts({"data": [path]}, how)["data"]


def _names_in(path: Path) -> list[str]:
    if form_of(path) == JSON:
        return list(read_json(path))
    return list((table_of(path) or TABLES[0]).schema(path).names)


def read_parts(
    parts: Mapping[str, Sequence[Path]], how: ReadOptions, *, distinct: str | None = None
) -> dict[str, QueryGroups]:
    """Read data sets whose features are the same.

    Numbered features are as many as the widest set has; named features are those of the first set.

    Parameters
    ----------
    parts : mapping of str to sequence of Path
        The files of each set, by its name.
    how : ReadOptions
    distinct : str, optional
        The name of the whole, for the message that refuses a query that is in two sets. None accepts it.

    Raises
    ------
    DataError
        If a file cannot be used, if a set has no column that the first one has, or by `distinct`.
    """
    scans: dict[str, Any] = {}
    for part, paths in parts.items():
        first = next(iter(scans.values()), None)
        scans[part] = scan_files(paths, how if first is None else how.as_first(first.reading))
    if distinct is not None:
        _refuse_shared(distinct, scans)
    features = _common_features(list(scans.values()))
    return {part: scan.fill(features) for part, scan in scans.items()}


def _common_features(scans: Sequence[Any]) -> Any:
    numbered = [scan for scan in scans if isinstance(scan.features, int)]
    tables = [scan for scan in scans if not isinstance(scan.features, int)]
    if numbered and tables:
        raise DataError(
            f"{numbered[0].name} is LETOR text, whose features have no names, and {tables[0].name} is a "
            "table; save all sets in one format"
        )
    return max(scan.features for scan in numbered) if numbered else tables[0].features


def _refuse_shared(name: str, scans: Mapping[str, Any]) -> None:
    qids = {part: set(map(str, scan.qid.tolist())) for part, scan in scans.items()}
    for first, other in combinations(qids, 2):
        if shared := qids[first] & qids[other]:
            raise DataError(
                f"{name}: qid {min(shared)} is in {first} and in {other} "
                f"({len(shared)} shared in all); expected parts without common queries: "
                "split by query (in Python, allow_shared_queries=True loads them all the same)"
            )


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
        Columns and missing values, as `load_data` takes them; ``n_features``, the number of features of
        LETOR text; and for a log of features of Elasticsearch LTR, OpenSearch LTR or Solr ``qrels``, its
        judgments, and ``log``, the name of the log.

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
    path = Path(path)
    scan: Any = scan_files([path], ReadOptions(**how))
    if isinstance(scan, StoredFiles):
        raise DataError(f"{path}: is a store already")
    writer = StoreWriter(folder, force=force)
    groups = scan.fill(scan.features, writer.allocate)
    names, labelled = groups.feature_names, groups.labelled
    writer.finish(
        groups.queries, groups.n_features, names, groups.name, labelled, groups.categories, groups.reading
    )
    return open_store(folder, verify=False)

"""Find the folds of a folder, and read training, validation and test sets."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from directrank.data.columns import ReadOptions, warn_of_outcomes
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.files.letor import read_letor
from directrank.files.reading import ENDINGS, read_file, read_parts
from directrank.files.store import MANIFEST, manifest_of

PARTS = ("train", "vali", "test")
#: Other names of the files of a part.
ALSO = {"vali": ("valid", "validation", "val", "dev")}
N_OFFICIAL = 5


@dataclass(frozen=True)
class Fold:
    """The files of one fold.

    Attributes
    ----------
    name : str
    train, vali, test : tuple of Path
        A set may consist of several files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from directrank import find_folds, make_ranking, write_letor
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("train", "vali", "test"):
    ...         write_letor(make_ranking(5, 4, 2, random_state=0), Path(folder, f"{name}.txt"))
    ...     (fold,) = find_folds(folder)
    ...     train, vali, test = fold.load(allow_shared_queries=True)
    >>> test.n_queries
    5
    """

    name: str
    train: tuple[Path, ...]
    vali: tuple[Path, ...]
    test: tuple[Path, ...]

    def load(
        self, *, allow_shared_queries: bool = False, **how: Any
    ) -> tuple[QueryGroups, QueryGroups, QueryGroups]:
        """Read the training, validation and test set, with the same features.

        Parameters
        ----------
        allow_shared_queries : bool, default=False
            Whether a qid may be in more than one set.
        **how : see `load_data`
            ``qid``, ``label``, ``docid``, ``features``, ``drop``, ``categorical``, ``missing``, ``labelled``
            and ``first_feature``; and ``digests``, the SHA-256 that the bytes of files must have.

        Raises
        ------
        DataFormatError
            If a line is malformed.
        DataError
            If a query is in two sets, or a file cannot be used.
        """
        files = {part: getattr(self, part) for part in PARTS}
        name = None if allow_shared_queries else self.name
        train, vali, test = read_parts(files, ReadOptions(**how), distinct=name).values()
        return train, vali, test


def find_folds(folder: str | os.PathLike) -> list[Fold]:
    """Find the folds of a folder.

    In this order: ``Fold1 … FoldN``, each with ``train.txt``, ``vali.txt`` and ``test.txt``; the three
    files themselves, as one fold; ``S1.txt … S5.txt``, of which fold i trains on S_i, S_{i+1},
    S_{i+2}, validates on S_{i+3} and tests on S_{i+4}. Any file may be gzipped, with ``.gz`` after its name,
    or a table: ``train.csv``, ``train.parquet``, ``train.arrow``. ``vali`` may be called ``valid``,
    ``validation``, ``val`` or ``dev``.

    Parameters
    ----------
    folder : path-like

    Returns
    -------
    list of Fold
        In the order of their numbers.

    Raises
    ------
    DataError
        If there is none of these, or a file of one is missing.
    """
    folder = Path(folder)
    if folder.is_file() or manifest_of(folder):
        raise DataError(
            f"{folder}: is one data set; divide it by --kfold 5 (in Python, kfold=5), or give three files"
        )
    if not folder.is_dir():
        raise DataError(f"{folder}: no such file or folder; expected a folder with folds, or one file")
    if folds := _numbered_folds(folder):
        return folds
    if any(_file(folder, part) for part in PARTS):
        return [_triple(folder)]
    if folds := _official_folds(folder):
        return folds
    raise DataError(
        f"{folder}: no folds; looked for Fold1/train.txt, Fold1/vali.txt, Fold1/test.txt (and Fold2 …), "
        "for train.txt, vali.txt, test.txt, and for S1.txt … S5.txt, each also with .gz, or as .csv, "
        ".parquet or .arrow"
    )


def _file(folder: Path, stem: str) -> Path | None:
    stems = (stem, *ALSO.get(stem, ()))
    names = [f"{stem}{end}" for stem in stems for end in (*ENDINGS, f"/{MANIFEST}")]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _numbered_folds(folder: Path) -> list[Fold]:
    numbers = sorted(
        int(path.name[4:])
        for path in folder.iterdir()
        if path.is_dir() and path.name.startswith("Fold") and path.name[4:].isdecimal()
    )
    if missing := set(range(1, max(numbers, default=0) + 1)) - set(numbers):
        raise DataError(
            f"{folder}: Fold{min(missing)} is missing; expected Fold1 to Fold{max(numbers)} without gaps"
        )
    return [_triple(folder / f"Fold{number}") for number in numbers]


def _triple(folder: Path) -> Fold:
    return Fold(folder.name, *((_needed(folder, part),) for part in PARTS))


def _needed(folder: Path, stem: str) -> Path:
    if file := _file(folder, stem):
        return file
    raise DataError(
        f"{folder}: {stem}.txt is missing (nor is there {stem}.txt.gz, {stem}.csv, {stem}.parquet …)"
    )


def _official_folds(folder: Path) -> list[Fold]:
    stems = [f"S{number}" for number in range(1, N_OFFICIAL + 1)]
    if not any(_file(folder, stem) for stem in stems):
        return []
    parts = 2 * [_needed(folder, stem) for stem in stems]
    return [
        Fold(f"Fold{i + 1}", tuple(parts[i : i + 3]), (parts[i + 3],), (parts[i + 4],))
        for i in range(N_OFFICIAL)
    ]


def load_data(
    path: str | os.PathLike,
    *,
    qid: str | None = None,
    label: str | None = None,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] | None = None,
    missing: str | float | None = None,
    first_feature: int | None = None,
    labelled: bool = True,
    verify: bool = True,
    ranker: Any = None,
) -> Any:
    """Read a file of any format into one `QueryGroups`, or a fold's folder into three.

    Formats go by the ending of the name: CSV and TSV (``.csv``, ``.tsv``, also compressed: ``.csv.gz``),
    Parquet (``.parquet``), Arrow and Feather (``.arrow``, ``.feather``); any other file is LETOR text. Tables
    need pyarrow, the extra ``arrow``.

    Parameters
    ----------
    path : path-like
        A file, or a folder with ``train``, ``vali`` and ``test`` in one of the formats.
    qid, label, docid : str, optional
        The columns of queries, grades and names of documents. By default a column with a usual name, such as
        ``query_id``, ``relevance``, ``doc``; documents need no names.
    features : sequence of str, optional
        The columns of features, or patterns such as ``bm25*``. By default all other columns.
    drop : sequence of str, default=()
        Columns to leave out, or patterns: those that hold no numbers, for example.
    categorical : sequence of str, optional
        The features that are categories, such as brands, or patterns, beside dictionaries of text in Parquet
        and Arrow; () for none.
    missing : {"nan", "error", "query_min"} or float, optional
        The meaning of an empty cell, or of a literal NULL: NaN, which every method takes and is the default;
        an error; the least value within the query; or a number.
    first_feature : {0, 1}, optional
        The number of the first feature of LETOR text; 1 by default.
    labelled : bool, default=True
        Whether the documents have relevance.
    verify : bool, default=True
        Compare the features of a store with their digests, which reads all of them.
    ranker : Ranker, optional
        A fitted ranker: its features are read, and what is not named here as in its training data.

    Returns
    -------
    QueryGroups, or tuple of three
        With the names of the columns as names of features.

    Raises
    ------
    DataError
        If the data cannot be used: names file, column, row and remedy.

    Warns
    -----
    UserWarning
        If a feature that nobody named is called like an outcome, such as ``clicked`` or ``position``: it may
        tell the answer.

    Examples
    --------
    >>> groups = load_data("clicks.parquet", qid="search_id", label="clicked")  # doctest: +SKIP
    """
    how = ReadOptions(
        qid=qid, label=label, docid=docid, features=features, drop=drop, missing=missing, labelled=labelled,
        categorical=categorical, first_feature=first_feature, verify=verify,
    )  # fmt: skip
    how = how if ranker is None else ranker.read_options(how)
    if not Path(path).is_dir() or manifest_of(Path(path)):
        groups = loaded = read_file(Path(path), how)
    else:
        groups, *_ = loaded = _only_fold(path).load(**vars(how))
    if how.features is None:
        warn_of_outcomes(groups.feature_names or (), groups.name)
    return loaded


def load_letor(path: str | os.PathLike, *, missing: str | float | None = None) -> Any:
    """Read a file into one `QueryGroups`, or a fold's folder into three.

    Parameters
    ----------
    path : path-like
        A LETOR file, or a folder with ``train.txt``, ``vali.txt`` and ``test.txt``.
    missing : {"nan", "error", "query_min"} or float, optional
        See `read_letor`.

    Returns
    -------
    QueryGroups, or tuple of three

    Raises
    ------
    DataFormatError
        If a line is malformed.
    DataError
        If the folder is not one fold.

    Examples
    --------
    >>> train, vali, test = load_letor("OHSUMED/Fold1")  # doctest: +SKIP
    """
    if not Path(path).is_dir():
        return read_letor(path, missing=missing)
    return _only_fold(path).load(missing=missing)


def _only_fold(path: str | os.PathLike) -> Fold:
    folds = find_folds(path)
    if len(folds) > 1:
        raise DataError(
            f"{path}: holds {len(folds)} folds, expected one; name it, as in "
            f"{Path(path) / folds[0].name}, or use find_folds"
        )
    return folds[0]

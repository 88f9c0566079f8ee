"""Find the folds of a folder, and read training, validation and test sets."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from directrank.data.groups import QueryGroups
from directrank.data.letor.blocks import Opener, plain_file
from directrank.data.letor.reader import fill_letor, read_letor, scan_letor
from directrank.data.letor.scan import Scan
from directrank.errors import DataError

PARTS = ("train", "vali", "test")
ENDINGS = (".txt", ".txt.gz")
N_OFFICIAL = 5


@dataclass(frozen=True)
class Fold:
    """The files of one fold.

    Attributes
    ----------
    name : str
    train, vali, test : tuple of Path
        A set may consist of several files.
    """

    name: str
    train: tuple[Path, ...]
    vali: tuple[Path, ...]
    test: tuple[Path, ...]

    def load(
        self,
        *,
        missing: str | float = "error",
        allow_shared_queries: bool = False,
        open_file: Opener = plain_file,
    ) -> tuple[QueryGroups, QueryGroups, QueryGroups]:
        """Read the training, validation and test set, with the number of features of the widest.

        Parameters
        ----------
        missing : {"error", "query_min"} or float, default="error"
            See `read_letor`.
        allow_shared_queries : bool, default=False
            Whether a qid may be in more than one set.
        open_file : callable, optional
            Opens a file to read its bytes, twice.

        Raises
        ------
        DataFormatError
            If a line is malformed.
        DataError
            If a query is in two sets.
        """
        scans = [
            scan_letor(paths, missing=missing, open_file=open_file)
            for paths in (self.train, self.vali, self.test)
        ]
        if not allow_shared_queries:
            _refuse_shared(self.name, scans)
        n_features = max(scan.largest_id for scan in scans)
        train, vali, test = (fill_letor(scan, n_features, missing=missing) for scan in scans)
        return train, vali, test


def _refuse_shared(name: str, scans: Sequence[Scan]) -> None:
    parts = [(part, set(map(str, scan.qid))) for part, scan in zip(PARTS, scans, strict=True)]
    for (one, first), (other, second) in combinations(parts, 2):
        if shared := first & second:
            raise DataError(
                f"{name}: qid {min(shared)} is in {one} and in {other} "
                f"({len(shared)} shared in all); expected parts without common queries: "
                "split by query (in Python, allow_shared_queries=True loads them all the same)"
            )


def find_folds(folder: str | os.PathLike) -> list[Fold]:
    """Find the folds of a folder.

    In this order: ``Fold1 … FoldN``, each with ``train.txt``, ``vali.txt`` and ``test.txt``; the three
    files themselves, as one fold; ``S1.txt … S5.txt``, of which fold i trains on S_i, S_{i+1},
    S_{i+2}, validates on S_{i+3} and tests on S_{i+4}. Any file may be gzipped, with ``.gz`` after its name.

    Raises
    ------
    DataError
        If there is none of these, or a file of one is missing.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected one with folds")
    for find in (_numbered_folds, _single_fold, _official_folds):
        if folds := find(folder):
            return folds
    raise DataError(
        f"{folder}: no folds; looked for Fold1/train.txt, Fold1/vali.txt, Fold1/test.txt (and Fold2 …), "
        "for train.txt, vali.txt, test.txt, and for S1.txt … S5.txt, each also with .gz"
    )


def _file(folder: Path, stem: str) -> Path | None:
    return next((folder / f"{stem}{end}" for end in ENDINGS if (folder / f"{stem}{end}").is_file()), None)


def _numbered_folds(folder: Path) -> list[Fold]:
    numbers = sorted(
        int(each.name[4:])
        for each in folder.iterdir()
        if each.is_dir() and each.name.startswith("Fold") and each.name[4:].isdecimal()
    )
    if missing := set(range(1, max(numbers, default=0) + 1)) - set(numbers):
        raise DataError(
            f"{folder}: Fold{min(missing)} is missing; expected Fold1 to Fold{max(numbers)} without gaps"
        )
    return [_triple(folder / f"Fold{number}") for number in numbers]


def _single_fold(folder: Path) -> list[Fold]:
    return [_triple(folder)] if any(_file(folder, part) for part in PARTS) else []


def _triple(folder: Path) -> Fold:
    return Fold(folder.name, *((_needed(folder, part),) for part in PARTS))


def _needed(folder: Path, stem: str) -> Path:
    if file := _file(folder, stem):
        return file
    raise DataError(f"{folder}: {stem}.txt is missing (nor is there {stem}.txt.gz)")


def _official_folds(folder: Path) -> list[Fold]:
    stems = [f"S{number}" for number in range(1, N_OFFICIAL + 1)]
    if not any(_file(folder, stem) for stem in stems):
        return []
    parts = 2 * [_needed(folder, stem) for stem in stems]
    return [
        Fold(f"Fold{i + 1}", tuple(parts[i : i + 3]), (parts[i + 3],), (parts[i + 4],))
        for i in range(N_OFFICIAL)
    ]


def load_letor(path: str | os.PathLike, *, missing: str | float = "error"):
    """Read a file into one `QueryGroups`, or a fold's folder into three.

    Parameters
    ----------
    path : path-like
        A LETOR file, or a folder with ``train.txt``, ``vali.txt`` and ``test.txt``.
    missing : {"error", "query_min"} or float, default="error"
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
    folds = find_folds(path)
    if len(folds) > 1:
        raise DataError(
            f"{path}: holds {len(folds)} folds, expected one; name it, as in "
            f"{Path(path) / folds[0].name}, or use find_folds"
        )
    return folds[0].load(missing=missing)

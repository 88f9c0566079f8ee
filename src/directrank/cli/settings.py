"""Values of options: the typed text parsed into values, and targets checked before any data are read."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from directrank.cli.failures import UsageError, usage
from directrank.storage.atomic import is_standard_output, is_stream, same_file
from directrank.storage.folders import foreign_entry

if TYPE_CHECKING:
    from directrank.data import QueryGroups
    from directrank.data.files import ReadOptions
    from directrank.estimators.methods import Configured
    from directrank.experiments.options import Options

STDIN = "-"
#: The first bytes of formats, with the endings of their names.
MAGIC = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"))
WORDS = {"true": True, "false": False, "none": None}
#: ``penalty=0.1``, ``ranksvm.penalty=0.1``, ``adarank(P(rel=2)@5).rounds=30``, ``xgboost:rank:map.gamma=1``.
_SETTING = re.compile(r"((?:[A-Za-z][\w:.-]*(?:\(.*\))?\.)?[A-Za-z_]\w*)=(.*)", re.S)


def names(text: str) -> list[str]:
    """Split a list of names at the commas outside brackets and quotes."""
    from directrank.estimators.methods import split_specs

    return split_specs(text)


def missing_rule(text: str) -> str | float:
    """Return the rule for NULL: ``nan``, ``error``, ``query_min`` or the number to use instead."""
    from directrank.data.files.options import MISSING_RULES

    if text in MISSING_RULES:
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--missing {text}: expected nan, error, query_min or a number") from None


def read_options(
    missing: str | None,
    qid: str | None,
    label: str | None,
    docid: str | None,
    features: str | None = None,
    drop: str | None = None,
    ranker: Any = None,
    **others: Any,
) -> "ReadOptions":
    """Return how to read files from the options of a command, and for a ranker the features it needs."""
    from directrank.data.files import ReadOptions

    columns = None if features is None else names(features)
    if ranker is not None:
        # Files of another library may count features from 0.
        others |= {"n_features": ranker.n_features_in_, "counts_fit": hasattr(ranker, "library_")}
        known = getattr(ranker, "feature_names_in_", None)
        columns = list(known) if columns is None and known is not None else columns
    if missing is not None:
        others["missing"] = missing_rule(missing)
    return ReadOptions(qid=qid, label=label, docid=docid, features=columns, drop=names(drop or ""), **others)


def read_documents(path: Path, how: "ReadOptions", *, quiet: bool) -> "QueryGroups":
    """Read a file of documents, and print which columns of a table were read as what."""
    from directrank.cli.output import remark
    from directrank.data.files import columns_line, read_file

    line = columns_line(path, how)
    remark(line, quiet=quiet or not line)
    return read_file(path, how)


@contextmanager
def readable_input(path: Path) -> Iterator[Path]:
    """Yield a path, or for ``-`` that of a copy of standard input: files of documents are read twice.

    The first bytes tell Parquet, Arrow, LETOR text (plain or gzipped) and CSV apart.
    """
    if str(path) != STDIN:
        yield path
        return
    with TemporaryDirectory(prefix="directrank-") as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with copy.open("rb") as file:
            start = file.read(1 << 16)
        is_letor = start.startswith(b"\x1f\x8b") or re.search(rb"(^|\s)qid:", start)
        ending = next(
            (end for first, end in MAGIC if start.startswith(first)), ".txt" if is_letor else ".csv"
        )
        yield copy.rename(copy.with_suffix(ending))


def seeds_of(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds {text}: expected numbers with commas, such as 0,1,2") from None


def check_file(path: Path, option: str, *inputs: Path | None, printing: bool = False) -> None:
    """Raise a `UsageError` if a file cannot be written, or is an input.

    Parameters
    ----------
    path : Path
        A file, a device, a pipe, or ``-`` for standard output.
    option : str
        As typed, such as ``--out``.
    *inputs : Path or None
        Files that the command reads.
    printing : bool, default=False
        Whether the command prints something else on standard output.
    """
    given = f"{option} {path}"
    _check_name(path, given)
    if printing and is_standard_output(path):
        raise UsageError(f"{given}: other results are printed on standard output; name a file")
    if is_stream(path):
        return
    if path.is_dir():
        raise UsageError(f"{given}: this is a folder; name a file")
    for each in inputs:
        if each is not None and same_file(path, each):
            raise UsageError(f"{given}: this is the input {each}; name another file")
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise UsageError(f"{given}: there is no folder {path.parent}; create it first")
    _check_writable(folder, given)


def check_folder(path: Path, option: str, *, force: bool) -> None:
    """Raise a `UsageError` if a path is a file, cannot be written or created, or holds files of others."""
    _check_name(path, f"{option} {path}")
    existing = next(each for each in (path, *path.absolute().parents) if each.exists())
    _check_writable(existing, f"{option} {path}")
    found = None if force else foreign_entry(path)
    if found is not None:
        raise UsageError(
            f"{option} {path}: the folder holds {found!r}, and no results of directrank; "
            "choose an empty or a new folder, or add --force"
        )


def _check_name(path: Path, given: str) -> None:
    try:
        os.lstat(path)
    except OSError:
        return
    except ValueError as error:  # a NUL, or half of a character
        raise UsageError(f"{given}: no file can have this name ({error}); choose another") from None


def _check_writable(folder: Path, given: str) -> None:
    if not folder.is_dir():
        what = "this" if given.endswith(f" {folder}") else str(folder)
        raise UsageError(f"{given}: {what} is a file; name a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{given}: no permission to write in {folder}; choose another place")


def value_of(text: str) -> Any:
    """Return a typed value: a number, true, false, none, a tuple of numbers, or the text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    pieces = [value_of(piece) for piece in text.split(",")] if "," in text else []
    if pieces and all(type(piece) in (int, float) for piece in pieces):
        return tuple(pieces)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def assignments(option: str, words: Sequence[str], parse: Callable[[str], Any]) -> dict[str, Any]:
    """Return names and values of words such as ``penalty=0.1``."""
    found = {}
    for word in words:
        match = _SETTING.fullmatch(word)
        if match is None:
            raise UsageError(f"{option} {word}: expected NAME=VALUE, such as penalty=0.1")
        name, text = match.groups()
        if name in found:
            raise UsageError(f"{option} {name} is given twice")
        found[name] = parse(text)
    return found


def with_settings(chosen: "Configured", words: Sequence[str] | None) -> "Configured":
    """Return a method with the parameters of ``--set`` options; ``start`` may name a model file."""
    from directrank.experiments.entries import overridden
    from directrank.models import load

    settings = PARSERS["settings"](words or ())
    for name, value in settings.items():
        if name == "start" and isinstance(value, str) and Path(value).is_file():
            settings[name] = load(value)
    with usage({"settings": words}):
        return overridden([chosen], settings, {})[0]


#: Parsers of the options of `compare` that are typed as text.
PARSERS: dict[str, Callable[[Any], Any]] = {
    "measures": names,
    "features": names,
    "drop": names,
    "missing": missing_rule,
    "seeds": seeds_of,
    "settings": partial(assignments, "--set", parse=value_of),
    "grids": partial(assignments, "--grid", parse=lambda text: [value_of(each) for each in names(text)]),
}


def comparison_options(given: Mapping[str, Any]) -> "Options":
    """Return the options of a comparison from those of the command."""
    from directrank.experiments.options import Options

    asked = [each.name for each in fields(Options) if each.init]
    typed = {name: given[name] for name in asked if given.get(name) is not None}
    return Options(**{name: PARSERS.get(name, lambda same: same)(value) for name, value in typed.items()})

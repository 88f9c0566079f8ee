"""Files that commands read and write: targets are checked before any data are read."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.storage.atomic import is_standard_output, is_stream, same_file
from directrank.storage.folders import foreign_entry

if TYPE_CHECKING:
    from directrank.data import QueryGroups
    from directrank.estimators.methods import Configured
    from directrank.files import ReadOptions

STDIN = "-"
#: The first bytes of formats, with the endings of their names.
MAGIC = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"))


def read_documents(path: Path, how: "ReadOptions") -> "QueryGroups":
    """Read a file of documents, and print which columns of a table were read as what."""
    from directrank.apps.cli.output import remark
    from directrank.files import columns_line, end_line, read_file

    remark(*filter(None, (columns_line(path, how), end_line(path))))
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


def check_file(path: Path, option: str, *inputs: Path | None, printing: bool = False) -> None:
    """Raise a `UsageError` if a file, a device or a pipe cannot be written, or is an input.

    With `printing`, standard output is for other results.
    """
    typed = f"{option} {path}"
    _check_name(path, typed)
    if printing and is_standard_output(path):
        raise UsageError(f"{typed}: other results are printed on standard output; name a file")
    if is_stream(path):
        return
    if path.is_dir():
        raise UsageError(f"{typed}: this is a folder; name a file")
    for source in inputs:
        if source is not None and same_file(path, source):
            raise UsageError(f"{typed}: this is the input {source}; name another file")
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise UsageError(f"{typed}: there is no folder {path.parent}; create it first")
    _check_writable(folder, typed)


def check_page(path: Path, option: str, *inputs: Path | None, printing: bool = False) -> None:
    """Raise a `UsageError` if a page cannot be written, or its name is that of another kind of file."""
    if not is_stream(path) and path.suffix.lower() not in ("", ".htm", ".html"):
        raise UsageError(
            f"{option} {path}: this is a page of HTML; name it {path.with_suffix('.html').name}; "
            "`directrank compare --out` also writes table.tex, table.md and results.csv"
        )
    check_file(path, option, *inputs, printing=printing)


def check_folder(path: Path, *, force: bool, option: str = "--out") -> None:
    """Raise a `UsageError` if a path is a file, cannot be written or created, or holds files of others."""
    _check_name(path, f"{option} {path}")
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    _check_writable(existing, f"{option} {path}")
    foreign = None if force else foreign_entry(path)
    if foreign is not None:
        raise UsageError(
            f"--out {path}: the folder holds {foreign!r}, and no results of directrank; "
            "choose an empty or a new folder, or add --force"
        )


def _check_name(path: Path, typed: str) -> None:
    try:
        os.lstat(path)
    except OSError:
        return
    except ValueError as error:  # a NUL, or half of a character
        raise UsageError(f"{typed}: no file can have this name ({error}); choose another") from None


def _check_writable(folder: Path, typed: str) -> None:
    if not folder.is_dir():
        what = "this" if typed.endswith(f" {folder}") else str(folder)
        raise UsageError(f"{typed}: {what} is a file; name a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{typed}: no permission to write in {folder}; choose another place")


def with_settings(chosen: "Configured", settings: Mapping[str, object]) -> "Configured":
    """Return a method with the parameters of ``--set`` options; ``start`` may name a model file."""
    if not settings:
        return chosen
    from directrank.apps.experiments.plan.entries import methods_of, overridden
    from directrank.estimators.synonyms import our_name
    from directrank.models import load

    settings = dict(settings)
    for name, value in settings.items():
        if not (our_name(name.rpartition(".")[2], ("start",)) and isinstance(value, str)):
            continue
        if Path(value).is_file():
            settings[name] = load(value)
        elif Path(value).suffix or len(Path(value).parts) > 1:
            raise UsageError(f"--set {name}={value}: {value}: no such file")
    entries: Any = methods_of([chosen])
    with usage():
        return overridden(entries, settings, {})[0]

"""The folder of compiled code: who may write to it, and which of its files are as numba wrote them.

numba's cache is pickled Python and machine code: whoever can write to the folder decides what this process
runs. numba also fails on a file that it cannot read, in the middle of whatever called the kernel. It
numbers the versions of a function whatever other processes write: two could exchange the code of two types.
"""

import contextlib
import json
import os
import pickletools
import shutil
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator
from numba.core.event import Event, Listener

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None

#: Compiled code takes about 25 MB; numba fails if it cannot write it.
LEAST_FREE = 64 * 2**20
#: The files that have been checked, with their sizes and times.
CHECKED = "checked.json"
PACKAGE = Path(__file__).parents[1]


class PathlessLocator(UserProvidedCacheLocator):
    """numba's locator of the cache folder, without the path of the package in it.

    The folder of a module is named after the sources that decide its code (`directrank.kernels.compile`), so
    another environment, container or checkout with the same sources uses the same compiled code. The path of
    a file outside the package stays in the name of its folder: that name says nothing about its source.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file):
        """Return the folder below ``NUMBA_CACHE_DIR`` for the kernels of a file."""
        return "" if Path(py_file).is_relative_to(PACKAGE) else super().get_suitable_cache_subpath(py_file)


def prepared_folder(folder: Path) -> Path:
    """Create a folder for compiled code, or check an existing one.

    Raises
    ------
    OSError
        If it cannot be written, is not the user's, or others can write to it; the message says which.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(os.path.realpath(folder))
    problem = _owner_problem(folder)
    if not problem and shutil.disk_usage(folder).free < LEAST_FREE:
        problem = f"less than {LEAST_FREE >> 20} MB is free there"
    if problem:
        raise OSError(None, problem)
    probe = folder / f".probe-{os.getpid()}"
    probe.touch()
    probe.unlink()
    return folder


def is_shared(folder: Path) -> bool:
    """Return whether a folder of compiled code is for reading: neither this process nor others can write it.

    It belongs to root or to the user, as in the image of a container or on a read-only disk.
    """
    return (
        hasattr(os, "geteuid")
        and folder.is_dir()
        and not (os.access(folder, os.W_OK) and folder.stat().st_uid == os.geteuid())
        and _owner_problem(folder, (0, os.geteuid())) is None
    )


def copy_shared(source: Path, target: Path) -> None:
    """Copy the compiled code of a module from a shared folder, unless there is some; numba writes beside it.

    A file that somebody else than root and the user can write stays behind.
    """
    if target.exists() or not source.is_dir() or _owner_problem(source, (0, os.geteuid())) is not None:
        return
    new = target.with_name(f".{target.name}-{os.getpid()}")
    with contextlib.suppress(OSError):
        new.mkdir(mode=0o700)
        for path in source.glob("*.nb[ic]"):
            with path.open("rb") as file:
                if _owner_problem_of(os.fstat(file.fileno()), (0, os.geteuid())) is None:
                    (new / path.name).write_bytes(file.read())
        new.rename(target)
    shutil.rmtree(new, ignore_errors=True)


class OneCompiler(Listener):
    """Lets one process at a time compile code for a folder or read it from there; the others wait.

    It listens to numba's event ``"numba:compiler_lock"``, which spans reading, compiling and writing.
    """

    def __init__(self, folder: Path):
        self._path = folder / ".lock"
        self._depth, self._guard = 0, threading.Lock()

    def on_start(self, event: Event) -> None:
        """Take the lock of the folder, unless this process has it."""
        with self._guard:
            if self._depth == 0 and fcntl is not None:
                self._file = self._path.open("ab")
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(self._file, fcntl.LOCK_EX)
            self._depth += 1

    def on_end(self, event: Event) -> None:
        """Give the lock back when nothing is left to compile."""
        with self._guard:
            self._depth -= 1
            if self._depth == 0 and fcntl is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)  # Forked processes keep the file open.
                self._file.close()


def _owner_problem(folder: Path, owners: Sequence[int] = ()) -> str | None:
    """Return who besides the owners, by default the user, could put code into the folder."""
    if not hasattr(os, "geteuid"):
        return None
    problem = _owner_problem_of(folder.stat(), owners or (os.geteuid(),))
    if problem:
        return problem
    for parent in folder.parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"everyone can write to {parent} and exchange it"
    return None


def _owner_problem_of(status: os.stat_result, owners: Sequence[int]) -> str | None:
    if status.st_uid not in owners:
        return "it belongs to another user"
    return "others can write to it" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None


def remove_damaged(folder: Path) -> None:
    """Remove the files of numba that are not whole; numba compiles them again."""
    checked = _checked(folder)
    states = {}
    for path in sorted(folder.rglob("*.nb[ic]")):
        with contextlib.suppress(OSError):
            facts = path.stat()
            name, state = str(path.relative_to(folder)), [facts.st_size, facts.st_mtime_ns]
            if checked.get(name) == state or _is_whole(path):
                states[name] = state
            else:
                path.unlink()
    if states != checked:
        with contextlib.suppress(OSError):
            new = folder / f".{CHECKED}-{os.getpid()}"
            new.write_text(json.dumps(states))
            new.replace(folder / CHECKED)


def _checked(folder: Path) -> dict[str, list[int]]:
    try:
        record = json.loads((folder / CHECKED).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_whole(path: Path) -> bool:
    """Return whether a file is pickles to its end, as numba writes them; nothing in it is run."""
    if path.is_symlink() or not path.is_file():
        return False
    n_pickles, names_numba = 0, False
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            while file.tell() < size:
                for opcode, value, _ in pickletools.genops(file):
                    names_numba |= opcode.name == "SHORT_BINUNICODE" and str(value).startswith("numba.")
                n_pickles += 1
        except Exception:  # whatever pickletools raises on bytes that are no pickle
            return False
    # An index is the version of numba, and then the rest; an entry is a tree of numba's objects.
    return n_pickles == 2 if path.suffix == ".nbi" else n_pickles == 1 and names_numba

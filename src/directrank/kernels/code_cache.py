"""The folder of compiled code: who may write to it, and which of its files are as numba wrote them.

numba's cache is pickled Python and machine code: whoever can write to the folder decides what this process
runs. numba loads whatever a file holds: one wrong bit may end the process without a word. It
numbers the versions of a function whatever other processes write: two could exchange the code of two types.
"""

import contextlib
import hashlib
import json
import os
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
#: The files of a module's code with their SHA-256, beside them.
DIGESTS = "digests.json"
PACKAGE = Path(__file__).parents[1]


class PathlessLocator(UserProvidedCacheLocator):
    """numba's locator of the cache folder, without the path of the package in it.

    The folder of a module is named after the sources that decide its code (`directrank.kernels.compile`), so
    another environment, container or checkout with the same sources uses the same compiled code. The path of
    a file outside the package stays in the name of its folder: that name says nothing about its source.
    """

    def ensure_cache_path(self):
        """Create the folder; `prepared_folder` has written beside it, so it is not tried for each kernel."""
        os.makedirs(self.get_cache_path(), exist_ok=True)

    @classmethod
    def get_suitable_cache_subpath(cls, py_file):
        """Return the folder below ``NUMBA_CACHE_DIR`` for the kernels of a file."""
        return "" if py_file.startswith(f"{PACKAGE}{os.sep}") else super().get_suitable_cache_subpath(py_file)


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
        for path in [*source.glob("*.nb[ic]"), *source.glob(DIGESTS)]:
            with path.open("rb") as file:
                if _owner_problem_of(os.fstat(file.fileno()), (0, os.geteuid())) is None:
                    (new / path.name).write_bytes(file.read())
        new.rename(target)
    shutil.rmtree(new, ignore_errors=True)


class OneCompiler(Listener):
    """Lets one process at a time compile code for a folder or read it from there; the others wait.

    It listens to numba's events ``"numba:compiler_lock"``, which spans reading, compiling and writing, and
    ``"numba:compile"``, after which there are new files.
    """

    def __init__(self, folder: Path):
        self._path = folder / ".lock"
        self._depth, self._guard = 0, threading.Lock()
        self._modules: list[ModuleCode] = []
        self._compiled = False

    def on_start(self, event: Event) -> None:
        """Take the lock of the folder, unless this process has it."""
        if event.kind == "numba:compile":
            self._compiled = True
        else:
            self._take()

    def on_end(self, event: Event) -> None:
        """Give the lock back when nothing is left to compile."""
        if event.kind != "numba:compile":
            self._give_back()

    def remove_damaged(self, folder: Path) -> None:
        """Remove the damaged files of a module, which numba compiles again."""
        code = ModuleCode(folder)
        if code.damaged():
            self._take()  # What another process is writing is no damage.
            try:
                for path in code.damaged():
                    with contextlib.suppress(OSError):
                        path.unlink()
            finally:
                self._give_back()
        self._modules.append(code)

    def _take(self) -> None:
        with self._guard:
            if self._depth == 0 and fcntl is not None:
                self._file = self._path.open("ab")
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(self._file, fcntl.LOCK_EX)
            self._depth += 1

    def _give_back(self) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth == 0 and self._compiled:
                self._compiled = False
                for code in self._modules:
                    code.record()
            if self._depth == 0 and fcntl is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)  # Forked processes keep the file open.
                self._file.close()


class ModuleCode:
    """The files of a module's compiled code, and the digests of their content that tell damage.

    A file without a digest is damaged: the process that wrote it ended before it was whole.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        #: Size and time of the files whose content was compared, or recorded, by this process.
        self._states: dict[Path, tuple[int, int]] = {}

    def damaged(self) -> list[Path]:
        """Return the files whose content is not what was recorded when they were written."""
        digests, damaged = self._digests(), []
        for path, state in self._files():
            digest = _digest(path)
            if digest and digest == digests.get(self._name(path)):
                self._states[path] = state
            else:
                damaged.append(path)
        return damaged

    def record(self) -> None:
        """Record the content of files that were written since this process compared them."""
        new = {path: state for path, state in self._files() if self._states.get(path) != state}
        if not new:
            return
        digests = self._digests() | {self._name(path): _digest(path) for path in new}
        with contextlib.suppress(OSError):
            beside = self._folder / f".{DIGESTS}-{os.getpid()}"
            beside.write_text(json.dumps(digests))
            beside.replace(self._folder / DIGESTS)
            self._states |= new

    def _files(self) -> list[tuple[Path, tuple[int, int]]]:
        """Return the files of numba with their sizes and times."""
        files = []
        for path in sorted(self._folder.rglob("*.nb[ic]")):
            with contextlib.suppress(OSError):
                facts = path.lstat()
                files.append((path, (facts.st_size, facts.st_mtime_ns)))
        return files

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _digests(self) -> dict[str, str]:
        try:
            digests = json.loads((self._folder / DIGESTS).read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return digests if isinstance(digests, dict) else {}


def _digest(path: Path) -> str:
    """Return the SHA-256 of a regular file in hex; empty of what is none, or cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(path.lstat().st_mode) else ""
    except OSError:
        return ""


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

"""Writing a file: a regular file completely or not at all, a device, a pipe or standard output directly."""

import contextlib
import errno
import functools
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "STDOUT",
    "is_standard_output",
    "is_stream",
    "open_atomically",
    "same_file",
    "write_atomically",
    "write_folder",
]

#: Errors of a disk, a quota or a limit that is reached.
FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
#: The path that stands for standard output.
STDOUT = "-"
#: Names of temporary files: of the target, and at random. They are locked while their writer lives.
PART = re.compile(r"\..*\.[0-9a-f]{16}\.directrank-part", re.DOTALL)


def write_atomically(path: str | os.PathLike, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash, meets the old content or the new, never a part."""
    with open_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_folder(folder: str | os.PathLike, files: Mapping[str, bytes]) -> None:
    """Write the files of a folder: all of them, or none if one cannot be written, as where the disk is full.

    The folder is made if it does not exist. Its other files stay.
    """
    folder = path = Path(folder)
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as parts:
            for name, content in files.items():
                path = folder / name
                file = parts.enter_context(_replacing(path))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # A full disk shows here, before the first file gets its name.
    except BaseException as error:
        for each in made:
            with contextlib.suppress(OSError):
                each.rmdir()
        if isinstance(error, OSError):
            raise _with_name(error, path) from error
        raise


@contextmanager
def open_atomically(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a binary file for writing; it takes its name, and replaces an old one, if the block succeeds.

    The content goes to a temporary file in the same folder, which is forced to disk and then renamed. The new
    file has the permissions of the old one. A symbolic link stays, and the file that it names is replaced. A
    device, a pipe and ``-``, standard output, are written to directly. An `OSError` names the target, whose
    old content is intact, and no temporary file remains. Those of writers that were killed are removed when a
    process first writes to their folder.
    """
    try:
        with _opened(path) as file:
            yield file
    except OSError as error:
        raise _with_name(error, path) from error


def _with_name(error: OSError, path: str | os.PathLike) -> OSError:
    """Return an error that names the file that was to be written, and a remedy."""
    remedy = "; free some space and rerun the same command" if error.errno in FULL else ""
    return type(error)(error.errno, f"{error.strerror or error}{remedy}", str(path))


def is_stream(path: str | os.PathLike) -> bool:
    """Whether writing to a path goes to standard output, a device or a pipe, so that nothing is replaced."""
    status = _found(path)
    replaced = status is None or stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_standard_output(path) or not replaced


def is_standard_output(path: str | os.PathLike) -> bool:
    """Whether a path is ``-``, or names the file or the pipe that standard output goes to."""
    if os.fspath(path) == STDOUT:
        return True
    # `-o /dev/stdout`: what is printed and what is written must share one position in the file.
    status = _found(path)
    with contextlib.suppress(OSError):
        return (
            status is not None and not stat.S_ISCHR(status.st_mode) and os.path.samestat(status, os.fstat(1))
        )
    return False


def same_file(path: str | os.PathLike, other: str | os.PathLike) -> bool:
    """Whether two paths name one existing regular file, by whatever links."""
    first, second = _found(path), _found(other)
    if first is None or second is None or not stat.S_ISREG(first.st_mode):
        return False
    return os.path.samestat(first, second)


def _found(path: str | os.PathLike) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _opened(path: str | os.PathLike) -> contextlib.AbstractContextManager[BinaryIO]:
    if is_standard_output(path):
        if sys.stdout is not None:
            sys.stdout.flush()
        return os.fdopen(os.dup(1), "wb")
    return open(path, "wb") if is_stream(path) else _replacing(path)


@contextmanager
def _replacing(path: str | os.PathLike) -> Iterator[BinaryIO]:
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, "the symbolic links name each other")
    old = _found(target)
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected")
    _remove_stale_parts_once(target.parent)
    part, descriptor = _new_part(target, private=old is not None)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if old is not None:
                _keep_permissions(file.fileno(), old)
            os.fsync(file.fileno())
            if os.name == "nt":  # Windows renames closed files only
                file.close()
            os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    # The rename itself must survive a power cut. Windows cannot open a folder, and needs no such step.
    if os.name != "nt":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _new_part(target: Path, private: bool) -> tuple[Path, int]:
    """Create a temporary file beside the target, and lock it; return its path and its descriptor."""
    while True:
        part = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.directrank-part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(part, flags, 0o600 if private else 0o666)
        # Another process may have taken the file for a stale one before it was locked.
        if not _lock(descriptor, wait=True) or os.fstat(descriptor).st_nlink:
            return part, descriptor
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock a file until it is closed, or this process dies; return whether it is locked."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def remove_stale_parts(folder: Path) -> None:
    """Remove the temporary files of a folder whose writers have died: nobody holds their locks."""
    if os.name == "nt":  # which has no such locks
        return
    with contextlib.suppress(OSError):
        for part in [entry.path for entry in os.scandir(folder) if PART.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor, wait=False):
                        os.unlink(part)
                finally:
                    os.close(descriptor)


#: Looking through the folder at each of ten thousand files would take longer than writing them.
_remove_stale_parts_once = functools.lru_cache(maxsize=64)(remove_stale_parts)


def _keep_permissions(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner and the permissions of the one that it replaces, and never wider ones."""
    if os.name == "nt":
        return
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        # The group is another one, which may not get the permissions of the old.
        mode &= ~(stat.S_ISUID | stat.S_ISGID | stat.S_IRWXG)
    os.fchmod(descriptor, mode)

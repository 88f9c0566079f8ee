"""Writing a file completely or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash, meets the old content or the new, never a part.

    Parameters
    ----------
    path : path
        The target; its folder must exist.
    content : bytes or str
        Text is written as UTF-8.

    Raises
    ------
    OSError
        Naming the target; the old content, if any, is intact and no temporary file remains.
    """
    with open_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a binary file for writing; it takes its name, and replaces an old one, if the block succeeds.

    The content goes to a temporary file in the same folder, which is forced to disk and then renamed.

    Raises
    ------
    OSError
        As `write_atomically`.
    """
    path = Path(path)
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part"
        )
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
        _sync_folder(path.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    # The rename itself must survive a power cut. Windows cannot open a folder, and needs no such step.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Writing a file whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: str | os.PathLike, content: bytes | str) -> None:
    """Write a file so that a reader, or a crash, meets the old content or the new, never a part.

    The content goes to a temporary file in the same folder, is forced to disk and then renamed over the
    target.

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
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part"
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
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

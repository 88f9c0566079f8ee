"""Checks that a file or folder can be written, made before any data are read."""

import os
from pathlib import Path

from directrank.cli.failures import UsageError


def check_file(path: Path, option: str) -> None:
    """Raise a `UsageError` if a path is a folder, or its folder does not exist or cannot be written."""
    if path.is_dir():
        raise UsageError(f"{option} {path}: this is a folder; name a file")
    if not path.parent.exists():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; create it first")
    _check_writable(path.parent, f"{option} {path}")


def check_folder(path: Path, option: str) -> None:
    """Raise a `UsageError` if a path is a file, or a folder that cannot be written or created."""
    existing = next(each for each in (path, *path.absolute().parents) if each.exists())
    _check_writable(existing, f"{option} {path}")


def _check_writable(folder: Path, given: str) -> None:
    if not folder.is_dir():
        what = "this" if given.endswith(f" {folder}") else str(folder)
        raise UsageError(f"{given}: {what} is a file; name a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{given}: no permission to write in {folder}; choose another place")

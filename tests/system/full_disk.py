"""Comparisons on a disk that fills up: a message of one line, a sound store, and a successful rerun."""

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

from disturbed import Comparing, check_saved, check_whole, finished


def fill_disk(command: Comparing, folder: Path, whole: Path, sizes: int) -> None:
    """Run the command on disks of several sizes; rerun it when the disk has grown."""
    files = [path.stat().st_size for path in whole.rglob("*") if path.is_file()]
    ways = {"limited files": (_limited, max(files))}
    if _may_mount(folder):
        ways["a small disk"] = (_mounted, sum(files))
    for name, (way, largest) in ways.items():
        for turn in range(sizes):
            size = 8192 + (largest - 8192) * turn // sizes
            saved, message = _filled(command, folder / f"{name}-{turn}", whole, way, size)
            print(f"  {name}, {size} bytes: {saved} records saved; {message}", flush=True)
        print(f"{name}, {sizes} sizes: one line each, store sound, resumed, files identical", flush=True)


def _filled(command: Comparing, out: Path, whole: Path, way, size: int) -> tuple[int, str]:
    """Return the number of records saved when the disk was full, and the message."""
    with way(out, size) as (options, grow):
        code, message = command.run(out, **options)
        assert code == 3, (size, code, message)
        assert len(message.splitlines()) == 1, message
        assert "rerun the same command" in message or "space" in message, message
        grow()  # on a full disk the store cannot be read
        saved = finished(out)
        code, again = command.run(out)
        assert code == 0, again
        check_saved(out, saved)
        check_whole(out, whole)
    return len(saved), message.strip().partition(str(out))[2][:90]


@contextlib.contextmanager
def _limited(out: Path, size: int) -> Iterator[tuple[dict, object]]:
    """Limit the size of every file."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    yield {"preexec_fn": limit}, lambda: None


@contextlib.contextmanager
def _mounted(out: Path, size: int) -> Iterator[tuple[dict, object]]:
    """Put all files on a disk of a given size."""
    out.mkdir()
    _mount(f"size={size}", out)
    try:
        yield {}, lambda: _mount("remount,size=1g", out)
    finally:
        subprocess.run(["umount", str(out)], check=True)


def _mount(options: str, out: Path) -> None:
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(out)], check=True, capture_output=True
    )


def _may_mount(folder: Path) -> bool:
    try:
        with _mounted(folder / "probe", 65536):
            return True
    except (OSError, subprocess.CalledProcessError):
        print("no disk can be mounted here: only the sizes of files are limited")
        return False

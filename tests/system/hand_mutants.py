"""Faults made by hand, one at a time, in a copy of the sources: each must fail a test.

    python tests/system/hand_mutants.py [--only WORD] [--share 1/2] [--sane]     (or: nox -s mutation)

Each fault of `hand_faults.toml` is killed if the tests that it names fail. `--sane` first runs them without.
The exit code is 1 if one survives. Compiled kernels are kept from fault to fault: only those that a fault
touches are compiled again. `--share 1/2` and `--share 2/2` run half of the faults each, at the same time.
"""

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
import tomllib
import traceback
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("hand_faults.toml")
WORDS = ("-q", "-x", "-n0", "--no-header", "-p", "no:cacheprovider", "-m", "not (heavy or slow or golden)")
#: Libraries that tests import, loaded once for all of them; none imports the package.
LIBRARIES = (
    "dask.dataframe",
    "distributed",
    "numba",
    "pandas",
    "pyarrow",
    "scipy.stats",
    "sklearn.utils",
)
COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")


class Fault(NamedTuple):
    """A replacement of a text in a file of src/directrank, and the arguments of pytest that must find it."""

    what: str
    file: str
    old: str
    new: str
    tests: str


def faults(word: str) -> list[Fault]:
    """Return the faults with a word in their file or description."""
    found = [Fault(**each) for each in tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]]
    return [each for each in found if word in f"{each.file} {each.what}"]


def copy_tree(folder: Path) -> None:
    """Copy the sources and the tests."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def passes(folder: Path, tests: str) -> bool:
    """Run some tests of the copy, up to the first that fails, in a fork that has the libraries already."""
    output = folder / "output.txt"
    number = os.fork()
    if number == 0:
        with output.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(folder)
        os.environ |= {"PYTHONPATH": str(folder / "src"), "NUMBA_CACHE_DIR": str(folder / "cache")}
        sys.path.insert(0, str(folder / "src"))
        code = pytest.ExitCode.INTERNAL_ERROR
        try:
            code = pytest.main([*WORDS, *shlex.split(tests)])
        except BaseException:
            traceback.print_exc()
        finally:  # Whatever happens, the copy belongs to the parent.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    if code not in (0, 1):
        sys.exit(f"pytest {tests}: exit code {code}\n{output.read_text()[-2000:]}")
    return code == 0


def is_killed(folder: Path, fault: Fault) -> bool:
    """Make a fault in the copy, run its tests, and take it back."""
    path = folder / "src" / "directrank" / fault.file
    text, written = path.read_text(encoding="utf-8"), path.stat()
    if text.count(fault.old) != 1:
        sys.exit(f"{fault.file} has {text.count(fault.old)} times {fault.old!r}; expected once")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        return not passes(folder, fault.tests)
    finally:
        path.write_text(text, encoding="utf-8")
        # numba and Python compile a file again whose time has changed.
        os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a word of the file or of what is wrong")
    parser.add_argument("--sane", action="store_true", help="run the tests without a fault first")
    parser.add_argument("--share", default="1/1", help="K/N: every N-th fault, from the K-th")
    given = parser.parse_args()
    first, step = map(int, given.share.split("/"))
    chosen, survivors = faults(given.only)[first - 1 :: step], 0
    for name in LIBRARIES:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        copy_tree(folder)
        for tests in sorted({each.tests for each in chosen}) if given.sane else ():
            if not passes(folder, tests):
                sys.exit(f"{tests}: fail without a fault")
        for fault in chosen:
            started = time.monotonic()
            killed = is_killed(folder, fault)
            survivors += not killed
            verdict = f"{'killed' if killed else 'SURVIVED'} in {time.monotonic() - started:.0f} s"
            print(f"{verdict}: {fault.file}: {fault.what}", flush=True)
    print(f"{len(chosen)} faults, {len(chosen) - survivors} killed, {survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())

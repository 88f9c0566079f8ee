"""Commands in strange environments: the results of an ordinary one, or one line that says what is wrong.

    python tests/system/environments.py [--count 20]

In each environment a small comparison is made and scores are evaluated. Results must be those of an ordinary
environment, byte for byte (without compilation, to six digits), or the failure must be one line. Not here:
less than about 400 MB of address space (`ulimit -v`), in which the import of OpenBLAS itself never ends.
"""

import argparse
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from directrank import make_ranking
from directrank.apps.cli.demos.shop import write_folds
from tally import Tally, complain

COMMANDS = (
    "compare data --methods regression --measures AP --no-audit --quiet --out run",
    "evaluate data/Fold1/test.txt scores.txt --measures AP,nDCG@10",
)
NUMBER = re.compile(r"\d+\.\d+")
GIB = 2**30
#: Seconds for a command: kernels may have to be compiled.
PATIENCE = 300


@dataclass(frozen=True)
class Place:
    """An environment: variables (None removes one), a limit, redirections, and files that are there."""

    name: str
    variables: Mapping[str, str | None] = field(default_factory=dict)
    limit: Callable[[], object] = lambda: None
    redirection: str = ""
    #: A file where a folder may be expected.
    file: str = ""
    #: Results agree to six digits only.
    rounded: bool = False


def at_most(what: int, size: int) -> Callable[[], object]:
    return lambda: resource.setrlimit(what, (size, size))


KEPT = ("PATH", "PYTHONPATH", "NUMBA_CACHE_DIR", "LD_LIBRARY_PATH")
PLACES = (
    Place("closed stdout", redirection=">&-"),
    Place("no compilation", {"NUMBA_DISABLE_JIT": "1"}, rounded=True),
    Place("a locale that is not UTF-8", {"LC_ALL": "de_DE.ISO-8859-1", "PYTHONIOENCODING": "latin-1"}),
    Place("closed stderr", redirection="2>&-"),
    Place("everything closed", redirection="<&- >&- 2>&-"),
    Place("a full disk behind stdout", redirection=">/dev/full"),
    Place("a TMPDIR that is missing", {"TMPDIR": "/nonexistent/tmp"}),
    Place("20 columns", {"COLUMNS": "20"}),
    Place("a dumb terminal", {"TERM": "dumb"}),
    Place("NO_COLOR", {"NO_COLOR": "1"}),
    Place("FORCE_COLOR", {"FORCE_COLOR": "1"}),
    Place("LANG=C", {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Place("no HOME", {"HOME": None, "XDG_CACHE_HOME": None}),
    Place("a home that is a file", {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None}),
    Place("a read-only home", {"HOME": "/sys", "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None}),
    Place("a kernel cache that is a file", {"NUMBA_CACHE_DIR": "cache"}, file="cache"),
    Place("umask 077", limit=lambda: os.umask(0o077)),
    Place("2 GiB of address space", limit=at_most(resource.RLIMIT_AS, 2 * GIB)),
    Place("32 open files", limit=at_most(resource.RLIMIT_NOFILE, 32)),
    Place("another seed of hashes, one thread", {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"}),
    Place("no environment", {name: None for name in os.environ if name not in KEPT}),
)


def run(folder: Path, place: Place) -> list[tuple[int, str, str]]:
    """Run the commands in an environment; return their exit codes and what they printed."""
    given = {**os.environ, **place.variables}
    environment, ended = {name: value for name, value in given.items() if value is not None}, []
    for words in COMMANDS:
        line = f"exec {shlex.quote(sys.executable)} -m directrank {words} {place.redirection}"
        process = subprocess.run(
            ["/bin/sh", "-c", line], cwd=folder, env=environment, preexec_fn=place.limit,
            capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
        message = process.stderr.decode(errors="replace")
        ended.append((process.returncode, process.stdout.decode(errors="replace"), message))
    return ended


def outcome(folder: Path, place: Place, expected: tuple[str, str]) -> str:
    """Return what became of the commands: the name of a count of `Tally`."""
    try:
        ended = run(folder, place)
    except subprocess.TimeoutExpired:
        return "hangs"
    problems = [
        (code, message)
        for code, _, message in ended
        if code not in (0, 2, 3) or "Traceback" in message or (code and len(message.splitlines()) > 1)
    ]
    if problems:
        complain((place.name, problems))
        return "crashes"
    results = folder / "run" / "results.csv"
    found = (results.read_text() if not ended[0][0] else "", ended[1][1])
    for text, wanted in zip(found, expected, strict=True):
        if text and not _same(text, wanted, place.rounded):
            complain((place.name, text, wanted))
            return "wrong"
    return "survived"


def _same(text: str, wanted: str, rounded: bool) -> bool:
    """Whether texts are the same but for colours and breaks of lines; numbers to six digits if rounded."""
    first, second = (re.sub(r"\x1b\[[0-9;]*m|\s+", "", each) for each in (text, wanted))
    if not rounded:
        return first == second
    pairs = zip(NUMBER.findall(first), NUMBER.findall(second), strict=True)
    return all(abs(float(one) - float(other)) < 1e-6 for one, other in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=len(PLACES))
    given = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="environments-") as name:
        ordinary = prepared(Path(name) / "ordinary")
        ended = run(ordinary, Place("ordinary"))
        expected = (ordinary / "run" / "results.csv").read_text(), ended[1][1]
        for number, place in enumerate(PLACES[: given.count]):
            folder = prepared(Path(name) / str(number))
            if place.file:
                (folder / place.file).write_text("no folder")
            tally.add(outcome(folder, place, expected))
    return tally.end()


def prepared(folder: Path) -> Path:
    """Make a folder with data and scores."""
    write_folds(make_ranking(24, 6, 3, random_state=1), folder / "data")
    rows = (folder / "data" / "Fold1" / "test.txt").read_text().splitlines()
    (folder / "scores.txt").write_text("".join(f"{row * 7 % 5}\n" for row in range(len(rows))))
    return folder


if __name__ == "__main__":
    sys.exit(main())

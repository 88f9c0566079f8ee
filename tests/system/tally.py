"""What became of hostile inputs: counts, and the line by which `torture.py` reads those of another script."""

import json
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

WORD = "TALLY "
#: Seconds that one input may take.
PATIENCE = 60


class HungError(BaseException):
    """An input took longer than `PATIENCE`; no handler of errors catches it by accident."""


@contextmanager
def limited(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise `HungError` in the block once it has run for some seconds."""

    def stop(*_) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Tally:
    """Counts of one kind of input; `survived` are those with a clear error or a correct result."""

    tried: int = 0
    survived: int = 0
    crashes: int = 0
    hangs: int = 0
    wrong: int = 0
    #: Largest resident memory of a process, in MB.
    peak: int = 0

    def add(self, outcome: str) -> None:
        """Count an input that survived, crashed, hung or gave wrong numbers: the name of a count."""
        self.tried += 1
        setattr(self, outcome, getattr(self, outcome) + 1)

    def end(self) -> int:
        """Print the line; return the exit code, 1 unless all survived."""
        who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        self.peak = max(resource.getrusage(each).ru_maxrss for each in who) // 1024
        print(WORD + json.dumps(asdict(self)), flush=True)
        return int(self.survived < self.tried)


def read_tally(output: str, code: int) -> Tally:
    """Return the tally that a script printed; one crash more if it ended before, or by a signal."""
    lines = [line for line in output.splitlines() if line.startswith(WORD)]
    tally = Tally(**json.loads(lines[-1].removeprefix(WORD))) if lines else Tally(tried=1)
    tally.crashes += not lines or code < 0
    return tally


def complain(problem: object) -> None:
    """Print what went wrong with an input."""
    print(repr(problem)[:1500], file=sys.stderr, flush=True)

"""Comparisons that are killed, run out of disk, or share a store: no finished fit is lost or repeated.

    python tests/system/kills.py [--data OHSUMED] [--kills 100] [--worker-kills 100] [--sizes 10]
                                      [--processes 8] [--jobs 1]

A comparison first runs undisturbed. Then it is

- killed (SIGKILL) at random moments, with all its processes, and resumed, many times;
- run by several processes of which one after the other is killed, while the rest continue;
- run with the sizes of files limited, and on small disks where one can be mounted, and resumed;
- run by several commands at once on one store, which make the same fits.

After each kill every recorded fit must still exist, unchanged: one that is made again has other times. In
the end results.csv must be byte-identical to the undisturbed one.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from disturbed import METHODS, Comparing, check_saved, check_whole, children, finished, made_folds
from full_disk import fill_disk
from tally import Tally


class Chance:
    """Random moments, and counts of the kills at them."""

    def __init__(self, seed: int, kills: int, seconds: float):
        self.random, self.left, self.seconds = random.Random(seed), kills, seconds
        self.done = 0

    def moment(self, share: float) -> float:
        """Return a random time, at most a share of an undisturbed run, in seconds."""
        return self.random.uniform(0, share * self.seconds)

    def counted(self) -> None:
        """Count a kill."""
        self.left, self.done = self.left - 1, self.done + 1


def kill_at_random(command: Comparing, folder: Path, whole: Path, chance: Chance) -> None:
    """Kill all processes of a comparison and rerun it, many times."""
    rounds = 0
    while chance.left:
        rounds += 1
        out, before = folder / f"killed-{rounds}", {}
        while not _killed(command, out, chance):
            before = check_saved(out, before)
        check_saved(out, before)
        check_whole(out, whole)
        print(f"  round {rounds}: {chance.done} kills so far, {len(finished(out))} records", flush=True)
    print(f"{chance.done} kills in {rounds} comparisons: 0 lost, 0 made twice, files identical", flush=True)


def _killed(command: Comparing, out: Path, chance: Chance) -> bool:
    """Start the command and kill it some time later; return whether it ended before."""
    process = command.start(out)
    # The moment lies between the first import and a bit more than half of the work: later kills mostly miss.
    deadline = time.monotonic() + chance.moment(0.6)
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    if process.poll() is None and chance.left:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        chance.counted()
        return False
    message = process.communicate()[1]
    assert process.returncode == 0, message
    return True


def kill_workers(command: Comparing, folder: Path, whole: Path, chance: Chance) -> None:
    """Kill single workers; a later run makes a fit that is hit twice, and what is left if all workers die."""
    rounds = again = 0
    while chance.left:
        rounds += 1
        out, before, code = folder / f"workers-{rounds}", {}, 1
        while code:
            process = command.start(out, jobs=2)
            while process.poll() is None:
                time.sleep(chance.moment(0.25))
                _kill_worker(process, chance)
                before = check_saved(out, before)
            message = process.communicate()[1]
            code = process.returncode
            assert code == 0 or "ProcessDied" in message or "processes die" in message, message
            again += code != 0
        check_whole(out, whole)
        print(f"  round {rounds}: {chance.done} killed so far, {len(finished(out))} records", flush=True)
    kinds = f"{chance.done} workers killed in {rounds} comparisons, {again} run again"
    print(f"{kinds}: 0 lost, 0 made twice, files identical", flush=True)


def _kill_worker(process: subprocess.Popen, chance: Chance) -> None:
    """Kill one of the processes that make fits."""
    working = children(process.pid) if process.poll() is None and chance.left else []
    if working:
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.random.choice(working), signal.SIGKILL)
            chance.counted()


def share(command: Comparing, folder: Path, whole: Path, processes: int) -> None:
    out = folder / "shared"
    running = [command.start(out) for _ in range(processes)]
    message = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * processes, message
    check_whole(out, whole)
    print(f"{processes} commands on one store: {len(finished(out))} records, files identical")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of folds; a made-up collection by default")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--points", type=int, default=2, help="of each grid")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--worker-kills", type=int, default=100)
    parser.add_argument("--sizes", type=int, default=10)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        data = given.data.resolve() if given.data else made_folds(folder / "data")
        command = Comparing(data, given.methods, given.points, given.jobs)
        whole = folder / "whole"
        code, message = command.run(whole)
        assert code == 0, message
        started = time.monotonic()
        assert command.run(folder / "again")[0] == 0
        seconds = time.monotonic() - started
        check_whole(folder / "again", whole)
        print(f"undisturbed: {len(finished(whole))} records in {seconds:.1f} s", flush=True)
        kill_at_random(command, folder, whole, Chance(1, given.kills, seconds))
        kill_workers(command, folder, whole, Chance(2, given.worker_kills, seconds))
        fill_disk(command, folder, whole, given.sizes)
        if given.processes:
            share(command, folder, whole, given.processes)
    # A rule that is broken ends the script before.
    tried = given.kills + given.worker_kills + given.sizes
    return Tally(tried, tried).end()


if __name__ == "__main__":
    sys.exit(main())

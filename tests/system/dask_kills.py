"""Training on a Dask cluster whose workers are killed or frozen: the same model, or an error with the cause.

    python tests/system/dask_kills.py [--kills 20] [--workers 2] [--all-every 5] [--freeze]

Worker processes without a nanny hold the shards of a store. A ranker is first trained undisturbed. Then one
worker is killed (SIGKILL) at a random moment of a fit, from the loading of the data on, many times; in every
fifth fit all of them are. With --freeze they are frozen instead (SIGSTOP), and killed after the fit, so that
nothing but their silence tells that they are lost. A fit must end within a minute of its kill: with the same
bits, or, where no worker is left, with an error of ours in one line.
"""

import argparse
import contextlib
import faulthandler
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

#: Seconds after a kill within which a fit has to end.
MINUTE = 60.0


class Crew:
    """Worker processes of a scheduler."""

    def __init__(self, client, n_workers: int, freeze: bool):
        self.client, self.n_workers, self.running = client, n_workers, []
        self.signal = signal.SIGSTOP if freeze else signal.SIGKILL

    def fill(self) -> None:
        """Start the workers that are missing, and wait for them."""
        # A worker that is still known, though it has ended, would count as one that has started.
        self.wait_for(len(self.running))
        while len(self.running) < self.n_workers:
            command = [
                sys.executable, "-m", "distributed.cli.dask_worker", self.client.scheduler.address,
                "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard",
            ]  # fmt: skip
            self.running.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        self.wait_for(self.n_workers)

    def wait_for(self, number: int) -> None:
        """Wait until the scheduler knows so many workers."""
        end = time.monotonic() + MINUTE
        while len(self.client.nthreads()) != number:
            if time.monotonic() > end:
                raise SystemExit("the workers do not start")
            time.sleep(0.05)

    def disturb(self, number: int) -> list[subprocess.Popen]:
        """Kill or freeze some of the workers; return them."""
        hit = random.sample(self.running, number)
        for each in hit:
            os.kill(each.pid, self.signal)
        return hit

    def end(self, workers: list[subprocess.Popen]) -> None:
        """Kill workers, and wait until they have ended."""
        for each in list(workers):
            each.kill()
            each.wait()
            self.running.remove(each)


def make(folder: Path, n_queries: int) -> None:
    """Write a store of many shards."""
    from directrank import make_ranking
    from directrank.files.store import StoreWriter

    groups = make_ranking(n_queries, 100, 100, random_state=0)
    writer = StoreWriter(folder)
    writer.allocate("made", *groups.features.shape)[:] = groups.features
    writer.finish(groups.queries, groups.n_features, None, "made", True)


def fitted(folder: Path, client) -> bytes:
    """Load the store, train on it, and return the bits of the model."""
    from directrank import LambdaRank
    from directrank.dask import distribute

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = LambdaRank("nDCG@10", rounds=6, random_state=0).fit(distribute(folder, client))
    return ranker.coef_.tobytes()


def disturbed(folder: Path, crew: Crew, moment: float, n_killed: int) -> tuple[bytes | str, float]:
    """Train while workers are killed; return the bits or the error, and the seconds from kill to end."""
    from directrank.errors import MethodError

    killed: list[float] = []
    hit: list[subprocess.Popen] = []

    def kill() -> None:
        hit.extend(crew.disturb(n_killed))
        killed.append(time.monotonic())

    timer = threading.Timer(moment, kill)
    timer.start()
    found: bytes | str
    try:
        found = fitted(folder, crew.client)
    except MethodError as error:
        found = str(error)
    ended = time.monotonic()
    timer.join()
    crew.end(hit)
    return found, max(0.0, ended - killed[0])


def main() -> int:
    """Print a line for each kill, and the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--all-every", type=int, default=5, help="every such fit loses all its workers")
    parser.add_argument("--freeze", action="store_true", help="stop workers (SIGSTOP), do not kill them")
    parser.add_argument("--queries", type=int, default=1000, help="of the data, each of 100 documents")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random.seed(given.seed)
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        make(folder := Path(name), given.queries)
        cluster = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None, processes=True)
        client = stack.enter_context(Client(stack.enter_context(cluster), direct_to_workers=True))
        crew = Crew(client, given.workers, given.freeze)
        stack.callback(lambda: crew.end(crew.running))
        return run(given, folder, crew)


def run(given: argparse.Namespace, folder: Path, crew: Crew) -> int:
    """Make the kills; return 1 if one of them changed the model or was not named."""
    crew.fill()
    expected, start = fitted(folder, crew.client), time.monotonic()  # Kernels are compiled now.
    assert fitted(folder, crew.client) == expected
    seconds = time.monotonic() - start
    verb = "frozen" if given.freeze else "killed"
    counts = {"same": 0, "named": 0, "other": 0}
    longest = 0.0
    for number in range(1, given.kills + 1):
        crew.fill()
        moment = random.uniform(0, seconds)
        n_killed = given.workers if number % given.all_every == 0 else 1
        # A hang ends the script, with the place where it hangs.
        faulthandler.dump_traceback_later(moment + seconds + MINUTE, exit=True)
        found, after = disturbed(folder, crew, moment, n_killed)
        faulthandler.cancel_dump_traceback_later()
        named = isinstance(found, str) and "\n" not in found
        outcome = "same" if found == expected else "named" if named and after <= MINUTE else "other"
        counts[outcome] += 1
        longest = max(longest, after)
        text = found if isinstance(found, str) else f"{outcome} model"
        print(
            f"{number:3}: {n_killed} {verb} after {moment:.1f} s, ended {after:.1f} s later: {text}",
            flush=True,
        )
    print(
        f"{given.kills} kills: {counts['same']} same models, {counts['named']} named errors, "
        f"{counts['other']} other models, 0 hangs; an undisturbed fit takes {seconds:.1f} s, "
        f"and the longest end came {longest:.1f} s after its kill"
    )
    return int(counts["other"] > 0)


if __name__ == "__main__":
    sys.exit(main())

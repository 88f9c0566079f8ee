"""Comparisons that are killed, run out of disk, or share a store: nothing finished is lost or made twice.

A comparison is run once undisturbed. Then it is

- killed (SIGKILL) at random moments and resumed, again and again, with all its processes;
- run with files limited to some sizes, as on a full disk, and resumed without the limit;
- run by several processes at once over one store.

After each kill every fit that had been recorded must still be there, unchanged; in the end results.csv must
be byte-identical to the undisturbed one, and the execution log must show no fit begun after it was done.

    python benchmarks/kills.py [--data OHSUMED] [--kills 100] [--sizes 10] [--processes 8] [--jobs 1]
"""

import argparse
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

METHODS = ",".join(
    [
        "regression", "adarank(AP)", "adarank(nDCG@1)", "adarank(nDCG@5)", "adarank(nDCG@10)", "adarank(P@5)",
        "adarank(RR)", "approxap", "approxndcg(nDCG@5)", "approxndcg(nDCG@10)",
    ]
)  # fmt: skip


def made_folds(folder: Path) -> Path:
    from directrank import make_ranking
    from directrank.experiments.demo import write_folds

    write_folds(make_ranking(60, 12, 6, random_state=4), folder)
    return folder


class Comparing:
    """The command that is disturbed."""

    def __init__(self, data: Path, methods: str, points: int, jobs: int):
        self.words = [
            sys.executable, "-m", "directrank", "compare", str(data), "--methods", methods, "--quiet",
            "--search", f"random:{points}", "--jobs", str(jobs), "--measures", "AP,nDCG@5",
        ]  # fmt: skip

    def start(self, out: Path, **options) -> subprocess.Popen:
        """Start it in a session of its own, so that one signal reaches all its processes."""
        return subprocess.Popen(
            [*self.words, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True, **options,
        )  # fmt: skip

    def run(self, out: Path, **options) -> tuple[int, str]:
        """Run it and return its exit code and what it said on stderr."""
        process = self.start(out, **options)
        said = process.communicate()[1]
        return process.returncode, said


def finished(out: Path) -> dict[str, str]:
    """Return the checksum of everything recorded as done; the store must be sound."""
    path = out / "store.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(path, timeout=60)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return {}
        return dict(connection.execute("SELECT key, sha256 FROM cells WHERE state = 'done'"))
    finally:
        connection.close()


def check_log(out: Path) -> tuple[int, int]:
    """Return how many records there are and how many leases were needed; none may follow its record."""
    connection = sqlite3.connect(out / "store.sqlite", timeout=60)
    rows = connection.execute("SELECT key, event FROM log ORDER BY id").fetchall()
    connection.close()
    done: set[str] = set()
    for key, event in rows:
        assert key not in done, f"{key} {event} after it was done"
        assert event != "failed", f"{key} failed"
        if event == "done":
            done.add(key)
    counts = Counter(event for _, event in rows)
    assert counts["done"] == len(done)
    return len(done), counts["leased"]


def check_whole(out: Path, whole: Path) -> None:
    for name in ("results.csv", "results.standard.csv"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), f"{out / name} differs"


def kill_at_random(command: Comparing, folder: Path, whole: Path, kills: int, seconds: float) -> None:
    chance, done, rounds = random.Random(1), 0, 0
    while done < kills:
        rounds += 1
        out, before = folder / f"killed-{rounds}", {}
        while True:
            process = command.start(out)
            # From the first import to a bit more than half of the work: later ones would mostly miss.
            deadline = time.monotonic() + chance.uniform(0, 0.6 * seconds)
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            ended = process.poll() is not None or done >= kills
            if ended:
                said = process.communicate()[1]
                assert process.returncode == 0, said
            else:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                done += 1
            now = finished(out)
            lost = [key for key, digest in before.items() if now.get(key) != digest]
            assert not lost, f"{len(lost)} finished records are lost or changed"
            before = now
            if ended:
                break
        check_whole(out, whole)
        records, leases = check_log(out)
        print(f"  round {rounds}: {done} kills so far, {records} records in {leases} leases", flush=True)
    print(f"{done} kills in {rounds} comparisons: 0 lost, 0 made twice, files identical")


def fill_disk(command: Comparing, folder: Path, whole: Path, sizes: int) -> None:
    largest = max(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    for turn in range(sizes):
        limit, out = 4096 + (largest - 4096) * turn // sizes, folder / f"full-{turn}"

        def limited(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        code, said = command.run(out, preexec_fn=limited)
        kept = finished(out)
        assert code == 3, (limit, code, said)
        assert len(said.splitlines()) == 1, said
        assert command.run(out)[0] == 0
        now = finished(out)
        assert all(now[key] == digest for key, digest in kept.items())
        check_whole(out, whole)
        print(f"  {limit} bytes: {len(kept)} records kept; {said.strip()[:110]}", flush=True)
    print(f"full disk at {sizes} sizes: one line each, store sound, resumed, files identical")


def share(command: Comparing, folder: Path, whole: Path, processes: int) -> None:
    out = folder / "shared"
    running = [command.start(out) for _ in range(processes)]
    said = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * processes, said
    records, leases = check_log(out)
    assert leases <= records, "something was made twice"
    check_whole(out, whole)
    print(f"{processes} processes on one store: {records} records, each made once, files identical")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of folds; a made-up collection by default")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--points", type=int, default=2, help="of each grid")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--sizes", type=int, default=10)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        data = given.data.resolve() if given.data else made_folds(folder / "data")
        command = Comparing(data, given.methods, given.points, given.jobs)
        whole = folder / "whole"
        code, said = command.run(whole)
        assert code == 0, said
        started = time.monotonic()
        assert command.run(folder / "again")[0] == 0
        seconds = time.monotonic() - started
        check_whole(folder / "again", whole)
        records, _ = check_log(whole)
        print(f"undisturbed: {records} records in {seconds:.1f} s", flush=True)
        kill_at_random(command, folder, whole, given.kills, seconds)
        fill_disk(command, folder, whole, given.sizes)
        if given.processes:
            share(command, folder, whole, given.processes)


if __name__ == "__main__":
    main()

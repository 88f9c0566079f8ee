"""A comparison that is killed while it trains, and run again, is the one that was not killed."""

import subprocess
import sys
import time
from pathlib import Path

from journeys.shop import COLUMNS, rows_of

LINE = f"compare shop.csv {COLUMNS} --kfold 3 --methods regression,ranksvm,listnet -q"


def written() -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in Path("killed/store").rglob("*.json")}


def test_a_killed_comparison_goes_on_and_ends_alike(folder, directrank):
    command = [sys.executable, "-m", "directrank", *LINE.split(), "--out", "killed"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(written()) < 4:
        time.sleep(0.02)
    assert process.poll() is None, "it ended before it was killed"
    process.kill()
    process.wait()
    before = written()
    assert not Path("killed/results.csv").exists()
    directrank(f"{LINE} --out killed")
    directrank(f"{LINE} --out whole")
    after = written()
    assert all(after[path] == time for path, time in before.items())
    assert rows_of("killed/results.csv") == rows_of("whole/results.csv")
    cells = {(row["method"], row["fold"]) for row in rows_of("killed/results.csv")}
    names = ("regression", "ranksvm", "listnet", "chosen on validation", "best single feature", "prior")
    assert cells == {(name, f"Fold{k}") for name in names for k in (1, 2, 3)}

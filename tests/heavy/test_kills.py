"""Kills, full disks and shared stores, at a reduced count; benchmarks/kills.py makes a hundred."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"
FEW = ["--methods", "regression,adarank(AP),approxap", "--kills", "5", "--sizes", "3", "--processes", "3"]


@pytest.mark.heavy
def test_nothing_finished_is_lost_or_made_twice():
    ended = subprocess.run([sys.executable, str(SCRIPT), *FEW], capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 lost, 0 made twice" in ended.stdout

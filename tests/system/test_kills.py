"""Kills, full disks and shared stores, at a reduced count; tests/system/kills.py makes a hundred."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kills.py")
FEW = [
    "--methods", "regression,adarank(AP),approxap", "--kills", "5", "--worker-kills", "3", "--sizes", "3",
    "--processes", "3",
]  # fmt: skip


@pytest.mark.heavy
def test_nothing_finished_is_lost_or_made_twice():
    ended = subprocess.run([sys.executable, str(SCRIPT), *FEW], capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "5 kills in" in ended.stdout
    assert "3 workers killed in" in ended.stdout
    assert ended.stdout.count("0 lost, 0 made twice") == 2
    assert "limited files, 3 sizes: one line each" in ended.stdout
    assert "3 commands on one store" in ended.stdout

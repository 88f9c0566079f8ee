"""Damaged model files and LETOR files, at a reduced count; full counts are in the script's text."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "input_mutants.py"


@pytest.mark.heavy
@pytest.mark.parametrize(("what", "count"), [("models", 300), ("readers", 1000)])
def test_no_mutant_breaks_a_reader(what, count):
    command = [sys.executable, str(SCRIPT), what, "--count", str(count), "--seed", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{what}: " in ended.stdout

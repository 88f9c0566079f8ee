"""Damaged results and stores, at a reduced count; tests/system/mutants.py makes 1,500."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("mutants.py")


@pytest.mark.heavy
def test_every_mutant_is_refused_in_one_line_or_read_without_a_wrong_number():
    words = [sys.executable, str(SCRIPT), "--count", "300", "--store-count", "60", "--seed", "1"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = [line.partition(": ") for line in ended.stdout.splitlines() if not line.startswith("TALLY ")]
    assert [head for head, *_ in lines] == ["results.json", "store"]
    assert all(rest.endswith(", 0 crashed, 0 hung, 0 wrong") for *_, rest in lines)
    # A changed byte of results.json is always found.
    assert ", 0 survived" in lines[0][2]

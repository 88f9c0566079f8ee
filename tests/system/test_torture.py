"""Kinds of the torture table that no other test of this folder runs, at a reduced count; faults by hand."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SYSTEM = Path(__file__).parent


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "count", "most_mb"), [("payload", 100, 500), ("environment", 3, 500)])
def test_every_input_ends_in_a_result_or_in_one_line(kind, count, most_mb):
    words = [sys.executable, str(SYSTEM / "torture.py"), "--only", kind, "--count", str(count)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    cells = [each.strip() for each in ended.stdout.splitlines()[-1].strip("|").split("|")]
    assert cells[1:6] == [str(count), str(count), "0", "0", "0"]
    assert int(cells[6]) < most_mb


@pytest.mark.heavy
def test_faults_made_by_hand_are_faults_of_these_sources():
    faults = tomllib.loads((SYSTEM / "hand_faults.toml").read_text(encoding="utf-8"))["fault"]
    assert len(faults) >= 40
    for fault in faults:
        text = (ROOT / "src" / "directrank" / fault["file"]).read_text(encoding="utf-8")
        assert text.count(fault["old"]) == 1, fault
        assert fault["new"] != fault["old"]
        assert (ROOT / fault["tests"].split()[0]).exists()

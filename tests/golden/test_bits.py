"""Fitted models, results, the page and the help texts have the recorded bits.

A change that is meant is recorded with it: python benchmarks/system/golden_bits.py --record
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "system" / "golden_bits.py"


@pytest.mark.heavy
def test_bits_are_those_recorded():
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr

"""A process that compiles its kernels computes the same bits as one that loads them."""

import os
import subprocess
import sys

import pytest

FIT = """
from directrank.data import make_ranking
from directrank.estimators import ApproxRank
groups = make_ranking(60, 150, 45, grades=3, noise=2.0, random_state=0)
print(ApproxRank("AP", penalty=1e-4, steepness=100.0).fit(groups).scorer_.coefficients.tobytes().hex())
"""


@pytest.mark.slow
def test_compiled_and_loaded_kernels_have_the_same_bits(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, loaded = (
        subprocess.run(
            [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert any(tmp_path.rglob("*.nbc"))
    assert compiled == loaded

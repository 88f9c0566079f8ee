"""Trees from a store, in a process whose data may grow by a quarter of the features."""

import subprocess
import sys

import pytest

pytest.importorskip("resource")

pytestmark = pytest.mark.heavy

MAKE = """
import sys
from pathlib import Path
from benchmarks.system.store import make

make(Path(sys.argv[1]) / "large", 500_000)
make(Path(sys.argv[1]) / "small", 24_000)
"""
FIT = """
import re, resource, sys
from pathlib import Path
from directrank import TreeRanker
from directrank.files import open_store

large, small = (Path(sys.argv[1]) / name for name in ("large", "small"))
ranker = TreeRanker("lambdarank", rounds=2, keep="last", n_jobs=1)
ranker.fit(open_store(small))  # compiles
groups = open_store(large)
data = 1024 * int(re.search(r"VmData:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
resource.setrlimit(resource.RLIMIT_DATA, (data + int(float(sys.argv[2]) * groups.features.nbytes), -1))
print(ranker.fit(groups).scorer_.n_trees)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("share", "trains"), [(0.25, True), (0.1, False)])
def test_trees_are_grown_from_a_store_larger_than_the_memory(share, trains, tmp_path):
    subprocess.run([sys.executable, "-c", MAKE, str(tmp_path)], check=True)
    words = [sys.executable, "-c", FIT, str(tmp_path), str(share)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.stdout == ("2\n" if trains else ""), ended.stderr
    assert trains or "MemoryError" in ended.stderr

"""What other systems lack, taken away here: locks of files, limits, owners; processes that start by spawn."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy

#: Run as a file, because processes that start by spawn import it again: they lack the same.
SCRIPT = """
import os, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
for name in ("sched_getaffinity", "geteuid"):
    if hasattr(os, name):
        delattr(os, name)
import multiprocessing

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    import directrank

    groups = directrank.make_ranking(30, 8, 3, random_state=0)
    ranker = directrank.RankSVM().fit(groups)
    directrank.save(ranker, "model n\\u00e9.dr")
    directrank.save(ranker, "model n\\u00e9.dr")
    assert (directrank.load("model n\\u00e9.dr").predict(groups) == ranker.predict(groups)).all()
    directrank.write_letor(groups, "clicks.txt")
    found = directrank.compare("clicks.txt", "regression,ranksvm", kfold=3, jobs=2, out="out")
    assert not any("error" in cell for cell in found.cells)
    assert not [name for name in os.listdir(".") if name.endswith("part")]
    print("fine")
"""


def test_without_locks_and_fork_models_are_saved_and_methods_compared(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split()[-1:] == ["fine"], done.stderr

"""The key of a fit: the sources and the libraries that decide its numbers."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import directrank
from directrank.apps.experiments.store.identity import decisive_sources
from directrank.estimators.methods import METHODS
from directrank.files import write_letor
from groups import first_group

PACKAGE = Path(directrank.__file__).parent
FITS = """
import sys
from directrank import compare
compare(sys.argv[1], sys.argv[2], search="random:1", refit=True, audit=True)
print("\\n".join(each.__file__ for name, each in sys.modules.items() if name.startswith("directrank")))
"""
DIGESTS = """
import sys
from pathlib import Path
from directrank.apps.experiments.store.identity import code_digest
print(code_digest())
for source in sys.argv[2:]:
    with Path(sys.argv[1], source).open("a") as file:
        file.write("# another line\\n")
    code_digest.cache_clear()
    print(code_digest())
"""
EXTERNAL = "lightgbm:lambdarank,xgboost:rank:ndcg,sklearn:sklearn.linear_model.Ridge"
EVERY = ",".join([each.name for each in METHODS])


def printed(code: str, *arguments, package: Path = PACKAGE) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    for seed, name in enumerate(("train", "vali", "test")):
        groups = directrank.make_ranking(8, 8, 4, random_state=seed)
        groups = directrank.QueryGroups(groups.X, groups.relevance, groups.qid + 100 * seed)
        write_letor(groups, tmp_path / "data" / f"{name}.txt")
    return tmp_path / "data"


@pytest.mark.heavy
@pytest.mark.parametrize(
    "methods",
    first_group(
        ["ranksvm,frank,trees-xendcg", f"{EVERY},{EXTERNAL}"],
        lambda methods: methods.startswith("ranksvm"),
    ),
    ids=["some", "every"],
)
def test_each_module_that_a_comparison_imports_is_in_the_key(folder, methods):
    imported = set(map(Path, printed(FITS, folder, methods).split()))
    assert PACKAGE / "features" / "statistics.py" in imported
    assert PACKAGE / "solvers" / "trees" / "growing.py" in imported
    assert imported - set(decisive_sources()) == set()


def test_an_edit_changes_the_key_unless_it_is_of_a_page_or_a_command(tmp_path):
    edits = {
        "features/statistics.py": True,
        "solvers/trees/growing.py": True,
        "apps/libraries/models/lightgbm_text.py": True,
        "apps/cli/app.py": False,
        "apps/report/page.py": False,
    }
    copy = tmp_path / "directrank"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    digests = printed(DIGESTS, copy, *edits, package=copy).split()
    changed = [before != after for before, after in pairwise(digests)]
    assert dict(zip(edits, changed, strict=True)) == edits

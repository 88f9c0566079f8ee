"""What `import directrank` shows: the public names, typed so that a user's script passes a type checker."""

import runpy
from pathlib import Path

import pytest

import directrank

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def test_dir_has_the_public_names_alone():
    assert dir(directrank) == sorted(directrank.__all__)
    assert all(hasattr(directrank, name) for name in dir(directrank))


@pytest.mark.heavy
def test_the_script_that_the_type_checker_reads_runs(capsys):
    runpy.run_path(str(EXAMPLES / "script.py"))
    printed = capsys.readouterr().out
    assert "nDCG@10" in printed
    assert "['ranksvm', 'listnet']" in printed


@pytest.mark.parametrize("line", ["class FeatureSet", "class Verdict", "TARGETS"])
def test_a_name_that_had_two_meanings_has_one(line):
    sources = Path(directrank.__file__).parent.rglob("*.py")
    assert sum(f"\n{line}" in path.read_text("utf-8") for path in sources) == 1

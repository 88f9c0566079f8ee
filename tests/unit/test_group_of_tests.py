"""The two groups of tests are what pytest's own selection by marks says, and the parts are all of a group."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CASES = """
import pytest
from groups import first_group

@pytest.mark.heavy
@pytest.mark.parametrize("k", [1, 2])
def test_heavy(k): ...
@pytest.mark.parametrize("k", first_group([object(), object(), object()], lambda k: False))
def test_all_cases_heavy(k): ...
@pytest.mark.parametrize("k", [object(), pytest.param(object(), marks=pytest.mark.heavy), object()])
@pytest.mark.parametrize("n", first_group([1, 2], lambda n: n == 2))
def test_some_cases_heavy(k, n): ...
@pytest.mark.parametrize("k", range(2))
def test_cases_of_a_range(k): ...
def test_first(): ...
@pytest.mark.heavy
class TestHeavy:
    def test_in_class(self): ...
class TestFirst:
    def test_in_class(self): ...
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_cases.py").write_text(CASES)
    (folder / "test_all_heavy.py").write_text(
        "import pytest\npytestmark = [\n    pytest.mark.heavy,\n]\ndef test_of_file(): ...\n"
    )
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text("utf-8"))
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers =\n    heavy\n    slow\n")
    return folder


def collected(project, *options):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [line for line in ended.stdout.splitlines() if "::" in line]


@pytest.mark.parametrize(
    ("expression", "the_same_for_pytest_alone", "n_tests"),
    [("not heavy", "not heavy and not slow", 6), ("heavy", "(heavy)", 11)],
)
def test_a_group_is_what_marks_select(project, expression, the_same_for_pytest_alone, n_tests):
    tests = collected(project, "-m", expression)
    assert tests == collected(project, "-m", the_same_for_pytest_alone)
    # By hand: of the 2 × 3 cases of marks in two lists, 1 × 2 are of the first group.
    assert len(tests) == n_tests


def test_each_test_is_in_one_of_the_parts(project):
    parts = [collected(project, "--part", f"{k}/2") for k in range(2)]
    assert all(parts)
    assert sorted(parts[0] + parts[1]) == sorted(collected(project))


def test_a_part_that_is_none_is_refused(project):
    command = [sys.executable, "-m", "pytest", "--part", "2/2"]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert ended.returncode == 4
    assert "expected K/N with K from 0 to N - 1, got 2/2" in ended.stderr

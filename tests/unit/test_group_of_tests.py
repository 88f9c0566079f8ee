"""The two groups of tests are what pytest's own selection by marks says, and the parts are all of a group."""

import json
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
# CRC-32 of "1" to "4" is 0x83DCEFB7, 0x1AD5BE0D, 0x6DD28E9B, 0xF3B61B38: one is even, none a multiple of 5.
@pytest.mark.share(2)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_share(k): ...
@pytest.mark.share(5)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_at_least_one(k): ...
@pytest.mark.heavy
class TestHeavy:
    def test_in_class(self): ...
class TestFirst:
    def test_in_class(self): ...
"""

GROUPS = [("not heavy", "not heavy and not slow", 8), ("heavy", "(heavy)", 17)]
#: What a process of its own collects with each of several lists of options: importing takes longest.
COLLECT = """
import json, sys
import pytest

class Names:
    def pytest_collection_finish(self, session):
        self.names = [item.nodeid for item in session.items]

results = []
for options in json.loads(sys.argv[1]):
    plugin = Names()
    assert pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *options], [plugin]) == 0
    results.append(plugin.names)
print(json.dumps(results))
sys.exit(pytest.main(["--part", "2/2"]))
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_cases.py").write_text(CASES)
    (folder / "test_all_heavy.py").write_text(
        "import pytest\npytestmark = [\n    pytest.mark.heavy,\n]\ndef test_of_file(): ...\n"
    )
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text("utf-8"))
    marks = "".join(f"    {name}\n" for name in ("heavy", "slow", "share(n)"))
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\nmarkers =\n{marks}")
    marks = [("-m", expression) for *expressions, _ in GROUPS for expression in expressions]
    options = json.dumps([*marks, ("--part", "0/2"), ("--part", "1/2"), ()])
    command = [sys.executable, "-c", COLLECT, options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def collected(ended):
    lists = [line for line in ended.stdout.splitlines() if line.startswith("[[")]
    assert lists, ended.stdout + ended.stderr
    return json.loads(lists[0])


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_a_group_is_what_marks_select(collected, group):
    tests, of_pytest_alone = collected[2 * group : 2 * group + 2]
    assert tests == of_pytest_alone
    # By hand: of the 2 × 3 cases of marks in two lists, 1 × 2 are of the first group.
    assert len(tests) == GROUPS[group][2]


def test_each_test_is_in_one_of_the_parts(collected):
    *_, first, second, every = collected
    assert first
    assert second
    assert sorted(first + second) == sorted(every)


def test_a_part_that_is_none_is_refused(ended):
    assert ended.returncode == 4
    assert "expected K/N with K from 0 to N - 1, got 2/2" in ended.stderr

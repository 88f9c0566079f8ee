"""Which tests a change can affect: those that import it, however indirectly, and those that name its file."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AFFECTED = runpy.run_path(str(ROOT / ".ci" / "affected.py"))
TEXT_INDEX = "tests/unit/apps/text/test_index.py"
LOSS = "src/directrank/surrogates/pairs/fidelity.py"


def is_affected(test, changed):
    return bool(AFFECTED["affected"]([changed], [ROOT / test]))


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("test", "changed"),
    [
        ("tests/theorems/test_xu2008_library.py", "src/directrank/surrogates/rankings/type_two.py"),
        ("tests/unit/apps/papers/test_yetiloss.py", "src/directrank/apps/papers/yetiloss.py"),
        # It trains `yetiloss` by its name: the table of methods loads the plug-in.
        ("tests/unit/apps/clusters/test_remote_shards.py", "src/directrank/apps/papers/yetiloss.py"),
        # `directrank.RankBoost` is found by its name, when it is used.
        ("tests/unit/estimators/test_boosted_ranker.py", LOSS),
        ("tests/conformance/test_surrogates.py", "tests/surrogate_examples.py"),
        ("tests/interface/test_docs.py", "docs/plugins.md"),
        # It starts other processes.
        ("tests/unit/apps/experiments/test_processes.py", LOSS),
        ("tests/unit/apps/text/test_search.py", "src/directrank/solvers/closed_form.py"),
        (TEXT_INDEX, "src/directrank/apps/text/index/folder.py"),
        (TEXT_INDEX, "src/directrank/apps/text/__init__.py"),
        (TEXT_INDEX, "tests/text_examples.py"),
        (TEXT_INDEX, TEXT_INDEX),
        (TEXT_INDEX, "pyproject.toml"),
    ],
)
def test_a_change_runs_the_tests_that_reach_it(test, changed):
    assert is_affected(test, changed)


def test_a_change_in_a_loss_does_not_run_features_of_texts_which_take_their_readers_from_directrank():
    assert not is_affected("tests/unit/apps/text/test_making.py", LOSS)


@pytest.mark.parametrize(
    ("package", "name", "module"),
    [
        ("directrank.surrogates", "Fidelity", "directrank.surrogates.pairs.fidelity"),
        ("directrank.data", "QueryGroups", "directrank.data.groups"),
        ("directrank", "compare", "directrank.apps.experiments.run.protocol"),
        ("directrank", "YetiLoss", "directrank.apps.papers.yetiloss"),
        ("directrank.measures", "dcg", "directrank.measures.dcg"),
        ("directrank.estimators.methods", "METHODS", "directrank.estimators.methods"),
    ],
)
def test_a_name_is_followed_to_the_module_that_defines_it(package, name, module):
    assert AFFECTED["sources_of"](package, name) == {module}

"""README and the pages made from declarations: tables are those of the registries, and the example runs."""

import importlib.util
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import directrank
from directrank.apps.cli.app import main
from directrank.apps.cli.demos.shop import demo_collection, write_judged
from directrank.apps.engines import TARGETS
from directrank.apps.text.features.definitions import DEFINITIONS
from directrank.estimators.methods import METHODS, configured
from directrank.estimators.parameters import parameters_of
from directrank.measures import MEASURES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generated():
    """The module that writes pages from declarations before each build."""
    spec = importlib.util.spec_from_file_location("generated_pages", ROOT / "docs" / "generated.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_tables_have_a_row_for_every_method_and_measure(generated):
    names = {method.name for method in METHODS}
    assert set(re.findall(r"^\| `([^`(]+)", generated.methods(), re.M)) == names
    assert set(re.findall(r"^- `([^`]+)`", generated.parameters(), re.M)) == names
    parts = generated.traits().partition("## Oracles")[0]
    assert set(re.findall(r"^\| `([^`]+)` \|", parts, re.M)) == names - {"auto"}
    assert generated.measures().count("\n") == len(MEASURES) + 1
    assert set(re.findall(r"^\| `(\w+)`", generated.features(), re.M)) == set(DEFINITIONS)
    assert re.findall(r"`([a-z-]+)`(?=,| \|)", generated.targets()) == [target.name for target in TARGETS]


def test_generated_parameters_are_those_that_are_declared(generated):
    """Each stands in the section of its class, or in that of parameters that several declare alike."""
    sections = dict(re.findall(r"^## (.+)\n([\s\S]*?)(?=^## |\Z)", generated.parameters(), re.M))
    for method in METHODS:
        for name, each in parameters_of(method.estimator).items():
            of = sections[method.estimator.__name__]
            rows = of + sections["Of many classes"] * (f"`{name}`" in of.partition("And, as above")[2])
            assert f"| `{name}` | `{each.default!r}` |" in rows


def test_the_number_of_methods_in_docs_is_that_of_the_registry():
    numbers = re.findall(r"All (\d+) methods are (\d+) pairs", (ROOT / "docs" / "experiments.md").read_text())
    number = len(configured("all"))
    assert numbers == [(str(number), str(math.comb(number, 2)))]


def test_every_measure_has_a_sentence_for_newcomers():
    assert all(each.meaning.endswith(".") for each in MEASURES)
    assert len({each.meaning for each in MEASURES}) == len(MEASURES)


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/directrank demo",
        "python3 -m venv .venv && .venv/bin/pip install -q '.[test]' && .venv/bin/pytest",
    ],
)
def test_the_two_commands_stand_on_lines_of_their_own(command):
    assert f"\n{command}\n" in README


def test_readme_can_be_read_in_two_minutes():
    assert README.count("\n") <= 100


def test_python_example_runs(tmp_path):
    """In a process of its own: here other tests have imported what the example does not."""
    (block,) = re.findall(r"```python\n(.*?)```", README, re.S)
    command = [sys.executable, "-c", block + "assert len(scores) == test.n_docs"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert not ended.stderr
    assert "nDCG@10" in ended.stdout


@pytest.mark.heavy
def test_commands_run_on_what_the_demo_writes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    write_judged(demo_collection(45)[0], tmp_path / "demo" / "judged.csv")
    lines = re.findall(r"^\.venv/bin/directrank (.*)", README, re.M)
    assert [line.split()[0] for line in lines] == ["compare", "fit", "rank", "export"]
    for line in lines:
        assert main(shlex.split(line)) == 0
    assert (tmp_path / "ranked.csv").read_text().startswith("qid,")
    assert (tmp_path / "model.json").stat().st_size > 1000


def test_public_names_are_all_there():
    assert sorted(directrank.__all__) == directrank.__all__
    for name in directrank.__all__:
        assert getattr(directrank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        directrank.nothing  # noqa: B018


def sentences(text: str) -> set[str]:
    """Return the sentences of at least eight words outside code and tables, without their markup."""
    text = re.sub(r"```[\s\S]*?```|^[|#].*$", "\n\n", text, flags=re.M)
    text = re.sub(r"\]\([^)]*\)|[\[\]`*]", "", text)
    parts = re.split(r"\n\s*\n|(?<=[.:;?!])\s+|\n- ", text)
    return {
        sentence for each in parts if len((sentence := " ".join(each.split()).rstrip(".:;?!")).split()) >= 8
    }


def test_no_two_pages_have_a_sentence_in_common():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert sentences(README)
    of = {}
    for page in pages:
        for sentence in sentences(page.read_text("utf-8")):
            of.setdefault(sentence, []).append(page.name)
    assert not {sentence: names for sentence, names in of.items() if len(names) > 1}

"""Contracts of imports name folders and not their files; the tests of a folder have its name."""

import subprocess
import sys
import tomllib
from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCES = TESTS.parent / "src" / "directrank"
SETTINGS = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = SETTINGS["tool"]["importlinter"]["contracts"]


def test_independence_is_of_all_files_of_a_folder():
    independent = {each["name"]: each["modules"] for each in CONTRACTS if each["type"] == "independence"}
    assert independent
    for name, modules in independent.items():
        assert all(module.endswith(".*") for module in modules), name


def test_a_new_measure_needs_no_line_in_the_contracts():
    (layers,) = (each for each in CONTRACTS if each.get("containers") == ["directrank.measures"])
    assert not layers.get("exhaustive")
    assert "directrank.measures.*" in [name for each in CONTRACTS for name in each.get("modules", ())]


def test_the_tests_of_a_folder_are_where_its_name_says():
    modules = {file.parent.relative_to(SOURCES) for file in SOURCES.rglob("*.py")} - {Path()}
    folders = {Path(*each.parts[: 2 if each.parts[0] == "apps" else 1]) for each in modules} - {Path("apps")}
    assert len(folders) >= 20
    without = {str(each) for each in folders if not list((TESTS / "unit" / each).glob("test_*.py"))}
    assert not without


def test_measures_import_few_modules_and_no_reader_of_files():
    code = "import sys, directrank.measures; print(*[m for m in sys.modules if m.startswith('directrank')])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = imported.stdout.split()
    assert len(modules) <= 45
    assert not [name for name in modules if name.startswith(("directrank.files", "directrank.apps"))]

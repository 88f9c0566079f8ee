"""The contracts of imports name folders and not their files, so that a new file cannot be forgotten."""

import subprocess
import sys
import tomllib
from pathlib import Path

SETTINGS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = SETTINGS["tool"]["importlinter"]["contracts"]


def test_independence_is_of_all_files_of_a_folder():
    independent = {each["name"]: each["modules"] for each in CONTRACTS if each["type"] == "independence"}
    assert independent
    for name, modules in independent.items():
        assert all(module.endswith(".*") for module in modules), name


def test_every_file_of_measures_has_its_layer():
    (contract,) = (each for each in CONTRACTS if each.get("containers") == ["directrank.measures"])
    assert contract["exhaustive"]


def test_measures_import_few_modules_and_no_reader_of_files():
    code = "import sys, directrank.measures; print(*[m for m in sys.modules if m.startswith('directrank')])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = imported.stdout.split()
    assert len(modules) <= 45
    assert not [name for name in modules if name.startswith(("directrank.files", "directrank.apps"))]

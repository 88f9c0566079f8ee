"""The contracts of imports name folders and not their files, so that a new file cannot be forgotten."""

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

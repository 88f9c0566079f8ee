"""A name is public if and only if a page of the reference documents it."""

import runpy
from pathlib import Path

import pytest

STRUCTURE = runpy.run_path(str(Path(__file__).resolve().parents[2] / ".ci" / "structure.py"))


@pytest.fixture(scope="module")
def sources():
    return STRUCTURE["Sources"]()


def test_names_are_documented_where_they_are_defined(sources):
    documented = {
        "directrank.measures.names.parse_measure",  # on a page of its own, as `directrank.parse_measure`
        "directrank.data.queries.Queries",  # by the folder, which imports it when it is used
        "directrank.apps.auto.prior.CorrelationRanker",  # by the application
        "directrank.measures.families.definition.TwoClasses",  # by an entry
        "directrank.estimators.parameters.FROM_1",  # by an entry of several
        "directrank.contracts",  # a module
    }
    assert documented <= sources.documented
    assert (
        not {"directrank.surrogates.steps.searched_step", "directrank.scorers.scaling.choose"}
        & sources.documented
    )


def test_no_private_name_crosses_folders(sources):
    assert not any(sources.private_imports().values())


def test_without_pages_only_names_of_the_package_are_public(monkeypatch, tmp_path):
    without = STRUCTURE["Sources"]()
    monkeypatch.setitem(type(without).documented.func.__globals__, "REFERENCE", tmp_path)
    assert "directrank.apps.auto.ensembles.AutoRanker" in without.documented
    assert "directrank.apps.auto.prior.CorrelationRanker" in without.undocumented()
    private = without.private_imports()
    assert "directrank.errors.UnfitPairError" in private["plugins"]
    assert "directrank.scorers.linear" in private["scorers"]["directrank.features.statistics.filled"]
    # A folder may take its own names.
    assert "directrank.surrogates.steps.searched_step" not in private["surrogates"]

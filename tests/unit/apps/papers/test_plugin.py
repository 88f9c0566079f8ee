"""The methods of papers come as a bundled plug-in; the rest is as for the methods of the core."""

import subprocess
import sys
import warnings
from importlib import metadata
from types import SimpleNamespace

import pytest

import directrank
from directrank import (
    YetiLoss,
)
from directrank.apps import auto, papers
from directrank.estimators import methods
from directrank.estimators.method import Method, in_order
from directrank.estimators.methods import METHODS, configured
from directrank.plugins import PlugIn, forget, load_entry_points, register
from directrank.registries import BUNDLED, GROUP, LOADED, bundled, of_other_packages

NAMES = [thing.name for thing in papers.PLUGINS if isinstance(thing, Method)]


def printed(script, *arguments):
    """What a script prints in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True
    ).stdout.split()


def test_bundled_plug_ins_are_in_the_order_of_their_table():
    assert list(BUNDLED["methods"]) == ["directrank.apps.auto", "directrank.apps.papers"]
    assert list(bundled("methods")) == [*auto.PLUGINS, *papers.PLUGINS]


def test_another_package_could_add_them(monkeypatch):
    of_the_core = tuple(method for method in METHODS if method.name not in NAMES)
    monkeypatch.setattr(methods, "METHODS", of_the_core)
    with pytest.raises(ValueError, match="no method is called 'yetiloss'"):
        configured("yetiloss")
    plugin = register(PlugIn("papers of another package", papers.PLUGINS))
    try:
        assert [configured(name)[0].method.name for name in NAMES] == NAMES
    finally:
        forget(plugin.origin)


def test_the_table_has_them_and_all_names_those_that_it_named():
    assert len(NAMES) == 12
    assert {method.name for method in METHODS} >= set(NAMES)
    named = {each.method.name for each in configured("all")} & set(NAMES)
    assert named == {"rankcosine", "svmmrr", "svmp", "trees-approxap"}


def test_a_method_is_listed_after_the_one_that_it_names_or_last():
    first, second = Method("first", YetiLoss), Method("second", YetiLoss)
    third = Method("third", YetiLoss, after="first")
    fourth, last = Method("fourth", YetiLoss, after="third"), Method("fifth", YetiLoss, after="absent")
    listed = in_order([first, second], [third, fourth, last])
    assert [method.name for method in listed] == ["first", "third", "fourth", "second", "fifth"]


def test_they_are_not_loaded_twice_where_the_metadata_names_them(monkeypatch):
    entry = metadata.EntryPoint("papers", "directrank.apps.papers", GROUP)._for(
        SimpleNamespace(name="directrank")
    )
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    for found_once in (load_entry_points, of_other_packages):
        found_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_entry_points()
    for found_once in (load_entry_points, of_other_packages):
        found_once.cache_clear()
    assert not [origin for origin in LOADED if origin.startswith("papers")]


def test_nothing_of_papers_is_imported_before_the_table_is_read():
    loaded = "print(*[name for name in sys.modules if 'papers' in name])"
    read = "print('read'); from directrank.estimators.methods import METHODS"
    words = printed(f"import sys, directrank; from directrank import RankSVM; {loaded}; {read}; {loaded}")
    assert words[0] == "read"
    assert "directrank.apps.papers" in words


def test_each_public_name_is_found_where_it_was():
    for name in ("RankCosine", "YetiLoss", "StructuralPerceptron"):
        assert getattr(directrank, name) is getattr(papers, name)
        assert name in directrank.__all__

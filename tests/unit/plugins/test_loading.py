"""Plug-ins from files and packages: what gets a name, and what is refused, in one line with the place."""

import sys
import warnings

import pytest

from directrank import load_plugin, parse_measure
from directrank.errors import MeasureNameError
from directrank.estimators.methods import METHODS, configured
from directrank.plugins import forget, load_entry_points, load_plugin_sources, plugin_sources
from directrank.registries import of_other_packages
from plugin_examples import MEASURE, SURROGATE, nothing_loaded  # noqa: F401 - the fixture works for all tests

HEAD = """\
from directrank import AdaRank
from directrank.contracts import Surrogate
from directrank.estimators.methods import Method
from directrank.measures.families.definition import Definition


class Share(Definition):
    meaning = "The share of relevant documents, whatever their ranks."

    def query_values(self, queries, positions):
        return queries.n_positive / queries.sizes


class Mute(Definition):
    def query_values(self, queries, positions):
        return queries.n_positive / queries.sizes


class Empty(Definition):
    meaning = "Says nothing."


class Loose(Definition):
    meaning = "Has a parameter that nothing knows."
    cutoff: int | None = None

    def query_values(self, queries, positions):
        return queries.n_positive / queries.sizes


class AP(Share):
    pass


class Silent(Surrogate):
    is_bound = is_convex = is_smooth = True

    def on(self, queries, weights):
        return None


class Own(AdaRank):
    pass


"""


def written(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_measure_of_a_file_has_its_name_with_parameters_and_aliases_of_case():
    load_plugin(MEASURE)
    assert parse_measure("Patience").name == parse_measure("patience").name == "Patience"
    assert parse_measure("Patience(rel=2)").rel == 2


def test_a_surrogate_of_a_file_is_a_method_with_a_grid_of_penalties():
    load_plugin(SURROGATE)
    (found,) = configured("logisticloss")
    assert (found.label, found.measure) == ("logisticloss", None)
    assert list(found.method.grid) == ["penalty"]
    assert found.build({"penalty": 0.5}).components()[1].penalty == 0.5


def test_all_names_every_method_of_directrank_and_no_plugin():
    load_plugin(SURROGATE)
    assert [each.method for each in configured("all")] == [each for each in METHODS if each.in_all]
    assert [each.label for each in configured("all,logisticloss")][-1] == "logisticloss"


def test_a_file_that_is_loaded_again_replaces_what_it_added(tmp_path):
    first = load_plugin(written(tmp_path, HEAD + "PLUGINS = (Share,)"))
    again = load_plugin(written(tmp_path, HEAD.replace("Share", "Part") + "PLUGINS = (Part,)"))
    assert first.digest != again.digest
    assert parse_measure("Part").name == "Part"
    with pytest.raises(MeasureNameError, match="no measure is called 'Share'"):
        parse_measure("Share")


def test_another_process_loads_the_text_and_not_the_file(tmp_path):
    path = written(tmp_path, HEAD + "PLUGINS = (Share,)")
    origin = load_plugin(path).origin
    sent = plugin_sources()
    forget(origin)
    path.write_text("1 / 0")
    load_plugin_sources(sent)
    assert parse_measure("Share").name == "Share"


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Two installed packages: one adds a measure, one fails."""
    for name, text in (("good_share", HEAD + "PLUGINS = (Share,)"), ("bad_share", "1 / 0")):
        written(tmp_path, text, f"{name}.py")
        facts = tmp_path / f"{name}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[directrank.plugins]\n{name} = {name}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for found_once in (load_entry_points, of_other_packages):
        found_once.cache_clear()
    yield
    for found_once in (load_entry_points, of_other_packages):
        found_once.cache_clear()
    sys.modules.pop("good_share", None)


def test_packages_add_plugins_by_entry_points_and_one_that_fails_is_left_out(packages):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_entry_points()
    assert parse_measure("Share").name == "Share"
    messages = [str(each.message) for each in caught]
    assert messages == [
        "the plug-in is not used: bad_share of the package bad_share: ZeroDivisionError: division by zero"
    ]

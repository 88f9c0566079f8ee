"""Models and results that releases saved load in this version, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pytest

from directrank import Fusion, __version__, load, save, write_report
from directrank.apps.experiments import read_results

RELEASES = sorted(each for each in (Path(__file__).parent / "releases").iterdir() if each.is_dir())
MODELS = [
    pytest.param(folder, name, id=f"{folder.name}-{name}")
    for folder in RELEASES
    for name in json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
]
releases = pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: folder.name)


def facts(folder):
    return json.loads((folder / "scores.json").read_text(encoding="utf-8"))


def test_this_version_has_its_folder():
    assert __version__ in [folder.name for folder in RELEASES]


@pytest.mark.parametrize(("folder", "name"), MODELS)
def test_a_saved_model_predicts_what_it_did(folder, name, tmp_path):
    saved = facts(folder)
    X = np.array(saved["X"], dtype=float)  # None becomes NaN
    ranker = load(folder / f"{name}.dr")
    scores = ranker.predict(X, qid=saved["qid"])
    # Other processors round the last bits of float32 in another way.
    np.testing.assert_allclose(scores, saved["scores"][name], rtol=1e-5, atol=1e-6)
    save(ranker, tmp_path / "again.dr")
    np.testing.assert_array_equal(load(tmp_path / "again.dr").predict(X, qid=saved["qid"]), scores)


@releases
def test_every_saved_file_is_tried(folder):
    assert {each.stem for each in folder.glob("*.dr")} == {*facts(folder)["scores"], "fusion"}


@releases
def test_a_saved_fusion_fuses(folder):
    runs = {"words": {"q": {"a": 9.0, "b": 5.0}}, "vectors": {"q": {"b": 0.8, "c": 0.7}}}
    assert list(Fusion.load(folder / "fusion.dr").fuse(runs)["q"]) == ["b", "a", "c"]


@releases
def test_saved_results_are_read_and_make_a_page(folder, tmp_path):
    results = read_results(folder)
    assert str(results).splitlines() == facts(folder)["table"]
    write_report(results, tmp_path / "page.html")
    assert "ranksvm" in (tmp_path / "page.html").read_text(encoding="utf-8")

"""A store behaves as the file that it was made of, and nothing that is damaged is opened."""

import gc
import json
import weakref
from pathlib import Path

import numpy as np
import pytest

from directrank import (
    check_data,
    compare,
    convert_data,
    evaluate,
    evaluate_runs,
    load_data,
    make_ranking,
    write_letor,
)
from directrank.apps.cli import main
from directrank.errors import DataError
from directrank.estimators.methods import configured
from directrank.files import open_store
from directrank.files.store import MANIFEST
from directrank.storage import mapped
from directrank.storage.mapped import create_matrix, is_mapped, open_matrix


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "train.txt"
    write_letor(make_ranking(12, 9, 5, grades=3, random_state=0), path)
    return path


def same(one, other):
    np.testing.assert_array_equal(one.features, other.features)
    for name in ("relevance", "indptr", "row", "qid", "docid"):
        np.testing.assert_array_equal(getattr(one.queries, name), getattr(other.queries, name))
    assert (one.feature_names, one.labelled) == (other.feature_names, other.labelled)


def test_a_store_is_the_file_it_was_made_of(text, tmp_path):
    folder = tmp_path / "store"
    opened, read = convert_data(text, folder), load_data(text)
    assert is_mapped(opened.features)
    assert opened.features.ctypes.data % 64 == 0
    for each in (opened, open_store(folder), open_store(folder, verify=False), load_data(folder)):
        same(each, read)
    assert check_data(opened).findings == check_data(read).findings


def test_tables_keep_their_names(tmp_path):
    rows = ["search,grade,doc,length,freshness"]
    rows += [f"q{i % 3},{i % 2},d{i},{i}.5,{(7 * i) % 5}" for i in range(12)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(rows))
    how = {"qid": "search", "label": "grade"}
    opened = convert_data(path, tmp_path / "store", **how)
    same(opened, load_data(path, **how))
    assert opened.feature_names == ("length", "freshness")


@pytest.mark.parametrize("spec", ["approxndcg", "rankboost"])
def test_models_have_the_same_bits(spec, text, tmp_path):
    opened, read = convert_data(text, tmp_path / "store"), load_data(text)
    build = configured(spec)[0].build
    ours, theirs = (build().fit(groups, eval_set=groups) for groups in (opened, read))
    scores = ours.predict(opened)
    np.testing.assert_array_equal(scores, theirs.predict(read))
    assert str(evaluate(opened, scores)) == str(evaluate(read, scores))


def damage(path, change):
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)


def flip(content):
    content[-2] ^= 1


def cut(content):
    del content[-3:]


def clear(content):
    content.clear()


ARRAYS = ("relevance.npy", "indptr.npy", "row.npy", "qid.npy", "features.npy")


@pytest.mark.parametrize("name", [*ARRAYS, MANIFEST])
@pytest.mark.parametrize("change", [flip, cut, clear])
def test_a_damaged_store_is_refused(name, change, text, tmp_path):
    folder = tmp_path / "store"
    convert_data(text, folder)
    damage(folder / name, change)
    with pytest.raises(DataError, match=rf"store.{name}: .*; convert the data again"):
        open_store(folder)


@pytest.mark.heavy
def test_a_changed_feature_is_refused_wherever_it_is_read(tmp_path):
    path, folder = tmp_path / "train.txt", tmp_path / "store"
    write_letor(make_ranking(300, 100, 20, random_state=0), path)
    groups = convert_data(path, folder)
    assert len(groups.shards) == 2
    damage(folder / "features.npy", flip)
    reading = {"open": open_store, "load_data": load_data, "evaluate": evaluate_store}
    for name, read in reading.items():
        with pytest.raises(DataError, match=r"features\.npy: rows \d+ to \d+ changed"):
            read(folder)
        assert name == "evaluate" or read(folder, verify=False).n_docs == groups.n_docs
    with pytest.raises(DataError, match=r"changed while|changed since"):
        compare(folder, methods="regression", kfold=3, out=tmp_path / "out")


def evaluate_store(folder):
    scores = folder / "scores"
    scores.write_text("0\n" * 29754)
    return evaluate_runs(folder, [scores])


def test_an_interrupted_conversion_leaves_no_store(text, tmp_path, monkeypatch):
    from directrank.files import store

    convert_data(text, tmp_path / "store")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_content", full)
    with pytest.raises(OSError, match="No space"):
        convert_data(text, tmp_path / "store")
    with pytest.raises(DataError, match="no store"):
        open_store(tmp_path / "store")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is known on Linux only")
def test_what_was_read_leaves_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "FREE_BYTES", 2**20)
    # Matrices of other tests may still be held, by fixtures of a module for example.
    monkeypatch.setattr(mapped, "mappings", weakref.WeakSet())
    create_matrix(tmp_path / "x.npy", (4000, 1000))[:] = 1
    gc.collect()
    rows = open_matrix(tmp_path / "x.npy")
    assert rows.sum() == rows.size
    (memory,) = mapped.mappings
    rows[0, 0] = 2
    mapped.relieve()
    assert rows.sum() == rows.size
    assert np.load(tmp_path / "x.npy")[0, 0] == 1
    del rows, memory
    gc.collect()
    assert not mapped.mappings


def test_commands_take_a_store(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def ended(code, *words):
        assert main([*map(str, words)]) == code
        return capsys.readouterr()

    def run(*words):
        return ended(0, *words).out

    def failed(*words):
        return ended(3, *words).err

    facts = json.loads(run("convert", text, "-o", "store", "--json"))
    assert (facts["queries"], facts["features"]) == (12, 5)
    for data in (text, "store"):
        run("fit", "ranksvm", data, "-o", f"{Path(data).stem}.dr", "--quiet")
    assert (tmp_path / "store.dr").read_bytes() == (tmp_path / "train.dr").read_bytes()
    run("rank", "store.dr", "store", "-o", "scores")
    assert run("evaluate", "store", "scores") == run("evaluate", text, "scores")
    damage(tmp_path / "store" / "features.npy", flip)
    commands = (("fit", "ranksvm", "store", "-o", "x.dr"), ("rank", "store.dr", "store", "-o", "x"),
                ("evaluate", "store", "scores"), ("audit", "store.dr", "store"))  # fmt: skip
    for words in commands:
        assert "rows 0 to 86 changed since they were written; convert the data again" in failed(*words)
        run(*words, "--no-verify")

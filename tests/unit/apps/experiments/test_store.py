"""The store: what comes back, damage, and what is refused."""

import errno
import json
import os
import random
import subprocess
import sys

import pytest

from directrank.apps.experiments.store import store as store_module
from directrank.apps.experiments.store.store import Store, key_of
from directrank.errors import DataError
from store_files import records_of, write_record

#: A record, as `Store.save` takes it.
A = ("a", "A", {"x": 1})


def test_nothing_is_written_before_something_is_kept(tmp_path):
    store = Store(tmp_path / "run")
    assert store.get("a") is None
    assert store.known(["a"]) == set()
    assert not (tmp_path / "run").exists()


def test_what_is_kept_comes_back(tmp_path):
    value = {"x": [0.1, None, "é", "\ud800"], "nan": float("inf")}
    Store(tmp_path).save([("a", "A", value)])
    assert Store(tmp_path).get("a") == value


def test_a_record_is_one_file_of_json(tmp_path):
    Store(tmp_path).save([A])
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["a.json"]
    record = json.loads((tmp_path / "store" / "a.json").read_text())
    assert (record["key"], record["label"], record["value"]) == A


@pytest.mark.parametrize("member", ["key", "label", "value", "sha256"])
@pytest.mark.parametrize("damage", ["odd", 7, None, -1.5, {"x": 2}, "absent"], ids=repr)
def test_a_damaged_record_is_absent_and_no_other(tmp_path, member, damage):
    Store(tmp_path).save([A, ("b", "B", {"x": 1})])
    record = {**records_of(tmp_path)["a"], "key": "a"}
    damaged = {**record, member: damage}
    if damage == "absent":
        damaged.pop(member)
    (tmp_path / "store" / "a.json").write_text(json.dumps(damaged))
    store = Store(tmp_path)
    assert store.records("ab") == {"b": {"x": 1}}
    store.save([A])
    assert Store(tmp_path).records("ab") == {"a": {"x": 1}, "b": {"x": 1}}


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"1", b"{", b'{"a":1,"a":2}', b'{"x":NaN}', b"[" * 100_000, b"\xff\xfe"]
)
def test_a_file_that_is_no_record_is_absent(tmp_path, content):
    store = Store(tmp_path)
    store.save([A])
    (tmp_path / "store" / "a.json").write_bytes(content)
    assert store.get("a") is None


@pytest.mark.parametrize("value", [[], None, 1, "text"])
def test_a_signed_value_that_is_no_object_is_absent(tmp_path, value):
    store = Store(tmp_path)
    store.save([A])
    write_record(tmp_path, {"key": "a", "label": "A", "value": value}, sign=True)
    assert store.get("a") is None


def test_a_record_does_not_count_under_another_key(tmp_path):
    store = Store(tmp_path)
    store.save([A])
    (tmp_path / "store" / "a.json").rename(tmp_path / "store" / "c.json")
    assert store.records("ac") == {}


def test_what_is_not_accepted_is_absent_and_made_again(tmp_path):
    store = Store(tmp_path)
    store.save([("a", "A", {"x": "odd"})])
    store.parse = lambda key, value: value if value["x"] == 1 else None
    assert store.known("a") == set()
    store.save([A])
    assert store.get("a") == {"x": 1}


def test_records_that_cannot_be_written_change_nothing(tmp_path):
    store = Store(tmp_path)
    store.save([A])
    with pytest.raises(TypeError):
        store.save([("b", "B", {"x": 1}), ("c", "C", {"x": object()})])
    assert store.known(["a", "b", "c"]) == {"a"}


def test_the_store_of_an_earlier_version_is_refused_untouched(tmp_path):
    (tmp_path / "store.sqlite").write_bytes(b"SQLite format 3\0")
    with pytest.raises(DataError, match=r"store\.sqlite: finished work of an earlier version.*remove it, or"):
        Store(tmp_path).get("a")
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_are_never_shown_as_values(tmp_path, seed):
    value, chance = {"x": 1, "padding": "x" * 300}, random.Random(seed)
    Store(tmp_path).save([("a", "A", value)])
    path = tmp_path / "store" / "a.json"
    content = bytearray(path.read_bytes())
    for _ in range(1 + seed % 3):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    assert Store(tmp_path).get("a") in (None, value)


def test_a_file_that_is_cut_anywhere_is_absent(tmp_path):
    Store(tmp_path).save([A])
    path = tmp_path / "store" / "a.json"
    content = path.read_bytes()
    for size in range(len(content) - 1):  # the last byte ends the line
        path.write_bytes(content[:size])
        assert Store(tmp_path).get("a") is None


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "store").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "run"):
        assert Store(folder).get("a") is None
        with pytest.raises(OSError, match="choose another with --out"):
            Store(folder).save([A])


def test_full_disk_is_said_and_loses_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.save([A])

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space.*; free some space and rerun the same.*b\.json"):
            store.save([("b", "B", {})])
    assert store.records("ab") == {"a": {"x": 1}}
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["a.json"]
    store.save([("b", "B", {})])


def test_keys_tell_facts_apart():
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})


def test_memory_is_a_store_too():
    store = Store(None)
    store.save([A])
    assert store.get("a") == {"x": 1}
    assert store.known("ab") == {"a"}


def test_a_record_takes_the_place_of_an_older_one(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    first.save([("a", "A", {"by": 1})])
    second.save([("a", "A", {"by": 2})])
    assert first.get("a") == {"by": 2}


@pytest.mark.heavy
@pytest.mark.slow
def test_eight_processes_share_a_folder(tmp_path):
    script = f"""
import sys
from {store_module.__name__} import Store
store = Store(sys.argv[1])
for number in range(30):
    store.save([(f"{{sys.argv[2]}} {{number}}", "", {{"by": sys.argv[2]}}), ("all", "", {{}})])
    assert store.get("all") == {{}}
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(number)], stderr=subprocess.PIPE)
        for number in range(8)
    ]
    messages = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, messages
    keys = [f"{process} {number}" for process in range(8) for number in range(30)]
    assert len(Store(tmp_path).records(keys)) == len(keys)

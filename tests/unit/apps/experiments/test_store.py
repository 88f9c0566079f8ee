"""The store: what comes back, damage, and what is refused."""

import errno
import json
import os
import subprocess
import sys

import pytest

from directrank.apps.experiments.store import store as store_module
from directrank.apps.experiments.store.store import Store, key_of
from directrank.errors import DataError
from store_files import records_of

#: A record, as `Store.save` takes it.
A = ("a", "A", {"x": 1})


def test_what_is_kept_comes_back(tmp_path):
    value = {"x": [0.1, None, "é", "\ud800"], "nan": float("inf")}
    Store(tmp_path).save([("a", "A", value)])
    assert Store(tmp_path).get("a") == value


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


def test_a_record_does_not_count_under_another_key(tmp_path):
    store = Store(tmp_path)
    store.save([A])
    (tmp_path / "store" / "a.json").rename(tmp_path / "store" / "c.json")
    assert store.records("ac") == {}


def test_the_store_of_an_earlier_version_is_refused_untouched(tmp_path):
    (tmp_path / "store.sqlite").write_bytes(b"SQLite format 3\0")
    with pytest.raises(DataError, match=r"store\.sqlite: finished work of an earlier version.*remove it, or"):
        Store(tmp_path).get("a")
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


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

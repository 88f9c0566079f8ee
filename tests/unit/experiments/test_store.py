"""The store: leases, processes, damage, and what is refused."""

import contextlib
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from directrank.errors import DataError
from directrank.experiments import store as module
from directrank.experiments.store import Store, connect, is_dead, key_of, new_owner, signature

WANTED = [("a", "A"), ("b", "B"), ("c", "C")]


def claim(store: Store, wanted, most: float = math.inf) -> list[str]:
    """Return the keys that a process gets of those it wants."""
    return store.exchange([], wanted, most)[0]


def events(store: Store) -> list[tuple[str, str]]:
    return [(row["key"], row["event"]) for row in store.log()]


def aged(folder: Path, seconds: float, owner: str = "elsewhere:1:x") -> None:
    """Make every lease one of a process on another machine that was last heard of so long ago."""
    with sqlite3.connect(folder / "store.sqlite") as connection:
        connection.execute(
            "UPDATE cells SET owner = ?, beat = ? WHERE state = 'leased'", (owner, time.time() - seconds)
        )
    connection.close()


def test_nothing_is_written_before_something_is_kept(tmp_path):
    store = Store(tmp_path / "run")
    assert store.get("a") is None
    assert store.ended(["a"]) == set()
    assert store.log() == []
    assert not (tmp_path / "run").exists()


def test_what_is_kept_comes_back(tmp_path):
    value = {"x": [0.1, None, "é"], "nan": float("inf")}
    Store(tmp_path).put("a", "A", value)
    assert Store(tmp_path).get("a") == value


def test_a_key_is_leased_once(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    assert claim(first, WANTED, 2) == ["a", "b"]
    assert claim(second, WANTED) == ["c"]
    assert claim(first, WANTED) == []
    first.exchange([("a", "A", "done", {"by": 1})])
    assert second.get("a") == {"by": 1}
    assert claim(second, WANTED) == []
    first.release()
    assert claim(second, WANTED) == ["b"]


@pytest.mark.parametrize(("age", "free"), [(1.0, False), (19.0, False), (21.0, True), (-21.0, True)])
def test_a_silent_lease_is_free_after_two_intervals(tmp_path, age, free):
    first, second = Store(tmp_path), Store(tmp_path)
    claim(first, WANTED)
    aged(tmp_path, age)
    assert claim(second, WANTED) == (["a"] if free else [])


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_jumps_takes_no_lease_from_the_living(tmp_path, monkeypatch, jump):
    first, second = Store(tmp_path), Store(tmp_path)
    claim(first, WANTED)
    now = time.time()
    monkeypatch.setattr(module.time, "time", lambda: now + jump)
    assert claim(second, WANTED) == []
    # A process of this machine that stands still is found out by the machine's own clock.
    tick = time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: tick + 21)
    assert claim(second, WANTED) == ["a"]


def test_a_clock_that_goes_backwards_makes_no_failure_one_of_an_earlier_run(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.begin()
    claim(store, WANTED[:1])
    monkeypatch.setattr(module.time, "time", lambda: 0.0)
    store.exchange([("a", "A", "failed", {"error": {}})])
    assert claim(store, WANTED[:1]) == []
    assert store.ended(["a"]) == {"a"}


def test_beats_keep_a_lease(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    first, second = Store(tmp_path), Store(tmp_path)
    claim(first, WANTED[:1])
    with first.beating():
        time.sleep(0.4)
        row = sqlite3.connect(tmp_path / "store.sqlite").execute("SELECT beat FROM cells").fetchone()
    assert time.time() - row[0] < 0.35
    monkeypatch.setattr(module, "HEARTBEAT", 100.0)
    assert claim(second, WANTED[:1]) == []


def test_lease_of_a_killed_process_is_free_at_once(tmp_path):
    script = (
        "import sys, time; from directrank.experiments.store import Store; "
        "print(Store(sys.argv[1]).exchange([], [('a', 'A')])[0], flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "['a']\n"
    store = Store(tmp_path)
    assert claim(store, WANTED[:1]) == []
    os.kill(process.pid, signal.SIGKILL)
    # Free even before anybody asked for its exit code.
    deadline = time.monotonic() + 10
    while not (taken := claim(store, WANTED[:1])) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.stdout.close()
    process.wait()
    assert taken == ["a"]


def test_owners():
    mine = new_owner()
    place, number, _ = mine.split(":")
    assert number == str(os.getpid())
    assert not is_dead(mine)
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_dead(f"{place}:{process.pid}:x")
    assert not is_dead(f"elsewhere:{process.pid}:x")
    assert not is_dead(f"{place}:1:x")


def test_failures_are_kept_in_this_run_and_tried_again_in_the_next(tmp_path):
    first = Store(tmp_path)
    claim(first, WANTED[:1])
    first.exchange([("a", "A", "failed", {"error": {}})])
    assert first.outcomes(["a"]) == {"a": {"error": {}}}
    assert claim(first, WANTED[:1]) == []
    later = Store(tmp_path)
    later.begin()
    assert later.outcomes(["a"]) == {}
    assert claim(later, WANTED[:1]) == ["a"]


def test_what_kills_two_processes_is_recorded_as_failed(tmp_path):
    watcher = Store(tmp_path)
    for _ in range(2):
        assert claim(Store(tmp_path), WANTED[:1]) == ["a"]
        aged(tmp_path, 1000)
    assert claim(watcher, WANTED[:1]) == []
    value = watcher.get("a")
    assert value is not None
    assert "died 2 times" in value["error"]["message"]
    assert events(watcher)[-1] == ("a", "failed")
    # In a later run its past is forgiven.
    later = Store(tmp_path)
    later.begin()
    assert claim(later, WANTED[:1]) == ["a"]


def test_deaths_are_laid_on_what_was_worked_on_alone(tmp_path):
    """A process may die with many leases; only the second death says which fit it was."""
    watcher = Store(tmp_path)
    assert claim(Store(tmp_path), WANTED) == ["a", "b", "c"]
    aged(tmp_path, 1000)
    assert claim(Store(tmp_path), WANTED) == ["a"]
    aged(tmp_path, 1000)
    assert claim(watcher, WANTED) == ["b"]
    assert watcher.ended("abc") == {"a"}
    assert claim(watcher, WANTED) == ["c"]


def test_what_is_given_back_is_no_death(tmp_path):
    for _ in range(3):
        store = Store(tmp_path)
        claim(store, WANTED[:1])
        store.release()
    claim(store, WANTED[:1])
    aged(tmp_path, 1000)
    assert claim(Store(tmp_path), WANTED[:1]) == ["a"]


def test_finished_and_wanted_are_one_commit(tmp_path):
    store = Store(tmp_path)
    assert store.exchange([("a", "A", "done", {})], WANTED) == (["b", "c"], ["a"])
    assert store.exchange([], [("x", ""), ("y", ""), ("z", "")], 2.5, {"x": 2.0}) == (["x", "y"], [])
    with pytest.raises(TypeError):
        store.exchange([("b", "B", "done", {"x": object()})], [("new", "")])
    assert store.ended(["b", "new"]) == set()
    assert ("new", "leased") not in events(store)


def test_a_finished_key_stays_as_it_was_finished(tmp_path):
    slow, quick = Store(tmp_path), Store(tmp_path)
    claim(slow, WANTED[:1])
    aged(tmp_path, 1000)
    assert claim(quick, WANTED[:1]) == ["a"]
    quick.exchange([("a", "A", "done", {"by": "quick"})])
    slow.exchange([("a", "A", "done", {"by": "slow"})])
    assert slow.get("a") == {"by": "quick"}
    quick.exchange([("a", "A", "done", {"by": "quick again"})])
    assert events(slow) == [("a", "leased"), ("a", "leased"), ("a", "done")]


def test_damaged_value_counts_as_absent(tmp_path):
    store = Store(tmp_path)
    store.put("a", "A", {"x": 1})
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("""UPDATE cells SET value = '{"x":2}'""")
    connection.close()
    assert store.get("a") is None
    assert claim(store, WANTED[:1]) == ["a"]


@pytest.mark.parametrize(
    "column", ["key", "label", "state", "owner", "beat", "tick", "event", "value", "sha256"]
)
@pytest.mark.parametrize("damage", [b"\xff\xfe", "odd", 7, None, -1.5], ids=repr)
def test_a_damaged_record_is_absent_and_no_other(tmp_path, column, damage):
    """Also where a text is no UTF-8 any more."""
    store = Store(tmp_path)
    for key in ("a", "b"):
        store.put(key, key, {"of": key})
    changed = "CAST(? AS TEXT)" if isinstance(damage, bytes) else "?"
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection,
        contextlib.suppress(sqlite3.IntegrityError),  # a key is not NULL
        connection,
    ):
        connection.execute(f"UPDATE cells SET {column} = {changed} WHERE key = 'a'", (damage,))
    # Labels are for people; any number can be the time of a record that is not leased.
    harmless = column in ("label", "owner") or (column in ("beat", "tick") and damage == -1.5)
    harmless |= column == "key" and damage is None
    later = Store(tmp_path)
    later.begin()
    assert later.get("b") == {"of": "b"}
    assert later.get("a") in ([{"of": "a"}, None] if harmless else [None])
    later.log()
    later.put("a", "a", {"of": "a"})
    assert Store(tmp_path).outcomes("ab") == {"a": {"of": "a"}, "b": {"of": "b"}}


@pytest.mark.parametrize("text", ["[]", "null", "1", "{", '{"a":1,"a":2}', '{"x":NaN}', "[" * 100_000])
def test_a_signed_value_that_is_no_record_is_absent(tmp_path, text):
    store = Store(tmp_path)
    store.put("a", "A", {"x": 1})
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        (event,) = connection.execute("SELECT event FROM cells").fetchone()
        digest = signature("a", "done", event, text.encode())
        connection.execute("UPDATE cells SET value = ?, sha256 = ?", (text, digest))
    assert store.get("a") is None
    assert claim(store, WANTED[:1]) == ["a"]


def test_a_record_does_not_count_under_another_key_or_state(tmp_path):
    store = Store(tmp_path)
    store.put("a", "A", {"x": 1})
    store.exchange([("b", "B", "failed", {"error": {}})])
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE cells SET key = 'c' WHERE key = 'a'")
        connection.execute("UPDATE cells SET state = 'done' WHERE key = 'b'")
    assert store.outcomes("abc") == {}


def test_what_is_not_accepted_is_absent_and_made_again(tmp_path):
    store = Store(tmp_path)
    store.put("a", "A", {"x": "odd"})
    store.accepts = lambda key, value: value["x"] == 1
    assert store.ended("a") == set()
    assert claim(store, WANTED[:1]) == ["a"]
    store.exchange([("a", "A", "done", {"x": 1})])
    assert store.get("a") == {"x": 1}


@pytest.mark.parametrize("owner", ["", "nobody", "x:0:y", "x:-1:y", "x:999999999999999999999:y", "x:1"])
def test_a_lease_of_nobody_is_free(tmp_path, owner):
    store = Store(tmp_path)
    claim(Store(tmp_path), WANTED[:1])
    aged(tmp_path, 0.0, owner)
    assert claim(store, WANTED[:1]) == ["a"]


def test_interrupted_transaction_changes_nothing(tmp_path):
    store = Store(tmp_path)
    store.put("a", "A", {"x": 1})
    with pytest.raises(TypeError):
        store.exchange([("b", "B", "done", {"x": 1}), ("c", "C", "done", {"x": object()})])
    assert store.ended(["a", "b", "c"]) == {"a"}
    store.put("b", "B", {})


@pytest.mark.parametrize(
    "content", [b"no database at all, but some text" * 40, b"SQLite format 3\0" + bytes(200)]
)
def test_files_that_are_no_store_are_refused(tmp_path, content):
    (tmp_path / "store.sqlite").write_bytes(content)
    with pytest.raises(DataError, match=r"store\.sqlite: not a store of directrank.*move it away"):
        Store(tmp_path).get("a")
    assert (tmp_path / "store.sqlite").read_bytes() == content


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("table", ["theirs", "cells"])
def test_databases_of_others_are_refused_untouched(tmp_path, mode, table):
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        for statement in (f"PRAGMA journal_mode = {mode}", f"CREATE TABLE {table} (key)"):
            connection.execute(statement)
        connection.commit()
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        for use in (lambda: Store(tmp_path).put("a", "A", {}), lambda: Store(tmp_path).get("a")):
            with pytest.raises(DataError, match="a database of another program"):
                use()
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(DataError, match="a database of another program"):
        Store(tmp_path).begin()
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


def test_later_versions_are_refused(tmp_path):
    store = Store(tmp_path)
    store.put("a", "A", {})
    store.close()
    connection = sqlite3.connect(tmp_path / "store.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DataError, match="version 99, this release reads 3"):
        Store(tmp_path).get("a")


@pytest.mark.parametrize("keep", [0, 1, 100, 4096, 6000, 9000])
def test_truncated_stores_are_refused_or_made_anew_and_show_nothing_wrong(tmp_path, keep):
    store = Store(tmp_path)
    for number in range(40):
        store.put(f"key {number}", "", {"number": number, "padding": "x" * 400})
    store.close()
    path = tmp_path / "store.sqlite"
    content = path.read_bytes()
    assert len(content) > 10_000
    path.write_bytes(content[:keep])
    again = Store(tmp_path)
    try:
        values = [again.get(f"key {number}") for number in range(40)]
        again.put("new", "", {})
    except DataError:
        return
    wholes = [{"number": number, "padding": "x" * 400} for number in range(40)]
    assert all(value in (None, whole) for value, whole in zip(values, wholes, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_are_never_shown_as_values(tmp_path, seed):
    import random

    store = Store(tmp_path)
    for number in range(20):
        store.put(f"key {number}", "", {"number": number, "padding": "x" * 300})
    store.close()
    path = tmp_path / "store.sqlite"
    content, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(8):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    try:
        again = Store(tmp_path)
        values = [again.get(f"key {number}") for number in range(20)]
    except (DataError, OSError):
        return
    assert all(value in (None, {"number": n, "padding": "x" * 300}) for n, value in enumerate(values))


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="no folder; choose another with --out"):
            Store(folder).put("a", "A", {})
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(OSError, match="choose another with --out"):
        Store(tmp_path).put("a", "A", {})


@pytest.mark.slow
def test_full_disk_is_said_and_loses_nothing(tmp_path):
    """A limit on file sizes stands in for a full disk: the write fails in the middle."""
    script = """
import resource, signal, sys
from directrank.experiments.store import Store
store = Store(sys.argv[1])
store.put("first", "", {"x": 1})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    for number in range(1000):
        store.put(f"more {number}", "", {"padding": "x" * 5000})
except OSError as error:
    print(number, error)
"""
    for size in (50_000, 100_000, 333_333):
        folder = tmp_path / str(size)
        ended = subprocess.run(
            [sys.executable, "-c", script, str(folder), str(size)], capture_output=True, text=True, check=True
        )
        kept, said = ended.stdout.split(" ", 1)
        assert "rerun the same command; finished work is reused" in said
        store = Store(folder)
        assert store.get("first") == {"x": 1}
        assert all(store.get(f"more {number}") for number in range(int(kept)))
        store.put("afterwards", "", {})


def test_memory_is_a_store_too():
    store = Store(None)
    assert claim(store, WANTED) == ["a", "b", "c"]
    store.exchange([("a", "A", "done", {"x": 1})])
    with store.beating():
        assert store.get("a") == {"x": 1}
    store.release()
    assert claim(store, WANTED) == ["b", "c"]


@pytest.mark.slow
def test_eight_processes_take_every_key_once(tmp_path):
    script = """
import sys, time
from directrank.experiments.store import Store
store = Store(sys.argv[1])
wanted = [(str(number), "") for number in range(120)]
while len(store.ended(key for key, _ in wanted)) < len(wanted):
    taken, _ = store.exchange([], wanted, 3)
    store.exchange([(key, "", "done", {"by": sys.argv[2]}) for key in taken])
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(number)], stderr=subprocess.PIPE)
        for number in range(8)
    ]
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, said
    happened = events(Store(tmp_path))
    assert sorted(key for key, event in happened if event == "leased") == sorted(map(str, range(120)))
    assert sorted(key for key, event in happened if event == "done") == sorted(map(str, range(120)))


def test_keys_tell_facts_apart():
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})


def test_commits_are_on_disk_when_they_return(tmp_path):
    """A power cut cannot be tested here; SQLite promises this of FULL, and of nothing less."""
    connection = connect(str(tmp_path / "store.sqlite"))
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    connection.close()

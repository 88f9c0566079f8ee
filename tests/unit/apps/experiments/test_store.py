"""The store: what comes back, damage, and what is refused."""

import contextlib
import sqlite3
import subprocess
import sys

import pytest

from directrank.apps.experiments.store import Store, connect, key_of, signature
from directrank.errors import DataError


def test_nothing_is_written_before_something_is_kept(tmp_path):
    store = Store(tmp_path / "run")
    assert store.get("a") is None
    assert store.known(["a"]) == set()
    assert not (tmp_path / "run").exists()


def test_what_is_kept_comes_back(tmp_path):
    value = {"x": [0.1, None, "é"], "nan": float("inf")}
    Store(tmp_path).save([("a", "A", value)])
    assert Store(tmp_path).get("a") == value


def test_damaged_value_counts_as_absent(tmp_path):
    store = Store(tmp_path)
    store.save([("a", "A", {"x": 1})])
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("""UPDATE records SET value = '{"x":2}'""")
    connection.close()
    assert store.get("a") is None


@pytest.mark.parametrize("column", ["key", "label", "value", "sha256"])
@pytest.mark.parametrize("damage", [b"\xff\xfe", "odd", 7, None, -1.5], ids=repr)
def test_a_damaged_record_is_absent_and_no_other(tmp_path, column, damage):
    """Also where a text is no UTF-8 any more."""
    store = Store(tmp_path)
    for key in ("a", "b"):
        store.save([(key, key, {"of": key})])
    changed = "CAST(? AS TEXT)" if isinstance(damage, bytes) else "?"
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection,
        contextlib.suppress(sqlite3.IntegrityError),  # a key is not NULL
        connection,
    ):
        connection.execute(f"UPDATE records SET {column} = {changed} WHERE key = 'a'", (damage,))
    # Labels are for people.
    harmless = column == "label" or (column == "key" and damage is None)
    later = Store(tmp_path)
    assert later.get("b") == {"of": "b"}
    assert later.get("a") in ([{"of": "a"}, None] if harmless else [None])
    later.save([("a", "a", {"of": "a"})])
    assert Store(tmp_path).records("ab") == {"a": {"of": "a"}, "b": {"of": "b"}}


@pytest.mark.parametrize("text", ["[]", "null", "1", "{", '{"a":1,"a":2}', '{"x":NaN}', "[" * 100_000])
def test_a_signed_value_that_is_no_record_is_absent(tmp_path, text):
    store = Store(tmp_path)
    store.save([("a", "A", {"x": 1})])
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        digest = signature("a", text.encode())
        connection.execute("UPDATE records SET value = ?, sha256 = ?", (text, digest))
    assert store.get("a") is None


def test_a_record_does_not_count_under_another_key(tmp_path):
    store = Store(tmp_path)
    store.save([("a", "A", {"x": 1})])
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE records SET key = 'c' WHERE key = 'a'")
    assert store.records("ac") == {}


def test_what_is_not_accepted_is_absent_and_made_again(tmp_path):
    store = Store(tmp_path)
    store.save([("a", "A", {"x": "odd"})])
    store.parse = lambda key, value: value if value["x"] == 1 else None
    assert store.known("a") == set()
    store.save([("a", "A", {"x": 1})])
    assert store.get("a") == {"x": 1}


def test_interrupted_transaction_changes_nothing(tmp_path):
    store = Store(tmp_path)
    store.save([("a", "A", {"x": 1})])
    with pytest.raises(TypeError):
        store.save([("b", "B", {"x": 1}), ("c", "C", {"x": object()})])
    assert store.known(["a", "b", "c"]) == {"a"}
    store.save([("b", "B", {})])


@pytest.mark.parametrize(
    "content", [b"no database at all, but some text" * 40, b"SQLite format 3\0" + bytes(200)]
)
def test_files_that_are_no_store_are_refused(tmp_path, content):
    (tmp_path / "store.sqlite").write_bytes(content)
    with pytest.raises(DataError, match=r"store\.sqlite: not a store of directrank.*move it away"):
        Store(tmp_path).get("a")
    assert (tmp_path / "store.sqlite").read_bytes() == content


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("table", ["theirs", "records"])
def test_databases_of_others_are_refused_untouched(tmp_path, mode, table):
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        for statement in (f"PRAGMA journal_mode = {mode}", f"CREATE TABLE {table} (key)"):
            connection.execute(statement)
        connection.commit()
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        for use in (lambda: Store(tmp_path).save([("a", "A", {})]), lambda: Store(tmp_path).get("a")):
            with pytest.raises(DataError, match="a database of another program"):
                use()
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(DataError, match="a database of another program"):
        Store(tmp_path).get("a")
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite"]


def test_later_versions_are_refused(tmp_path):
    store = Store(tmp_path)
    store.save([("a", "A", {})])
    store.close()
    connection = sqlite3.connect(tmp_path / "store.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DataError, match="version 99, this release reads 4"):
        Store(tmp_path).get("a")


@pytest.mark.parametrize("keep", [0, 1, 100, 4096, 6000, 9000])
def test_truncated_stores_are_refused_or_made_anew_and_show_nothing_wrong(tmp_path, keep):
    store = Store(tmp_path)
    for number in range(40):
        store.save([(f"key {number}", "", {"number": number, "padding": "x" * 400})])
    store.close()
    path = tmp_path / "store.sqlite"
    content = path.read_bytes()
    assert len(content) > 10_000
    path.write_bytes(content[:keep])
    again = Store(tmp_path)
    try:
        values = [again.get(f"key {number}") for number in range(40)]
        again.save([("new", "", {})])
    except DataError:
        return
    wholes = [{"number": number, "padding": "x" * 400} for number in range(40)]
    assert all(value in (None, whole) for value, whole in zip(values, wholes, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_are_never_shown_as_values(tmp_path, seed):
    import random

    store = Store(tmp_path)
    for number in range(20):
        store.save([(f"key {number}", "", {"number": number, "padding": "x" * 300})])
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
            Store(folder).save([("a", "A", {})])
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(OSError, match="choose another with --out"):
        Store(tmp_path).save([("a", "A", {})])


@pytest.mark.slow
def test_full_disk_is_said_and_loses_nothing(tmp_path):
    """A limit on file sizes stands in for a full disk: the write fails in the middle."""
    script = """
import resource, signal, sys
from directrank.apps.experiments.store import Store
store = Store(sys.argv[1])
store.save([("first", "", {"x": 1})])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    for number in range(1000):
        store.save([(f"more {number}", "", {"padding": "x" * 5000})])
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
        store.save([("afterwards", "", {})])


def test_keys_tell_facts_apart():
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})


def test_commits_are_on_disk_when_they_return(tmp_path):
    """A power cut cannot be tested here; SQLite promises this of FULL, and of nothing less."""
    connection = connect(str(tmp_path / "store.sqlite"))
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    connection.close()


def test_memory_is_a_store_too():
    store = Store(None)
    store.save([("a", "A", {"x": 1})])
    assert store.get("a") == {"x": 1}
    store.close()
    assert store.known("ab") == {"a"}


def test_a_record_takes_the_place_of_an_older_one(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    first.save([("a", "A", {"by": 1})])
    second.save([("a", "A", {"by": 2})])
    assert first.get("a") == {"by": 2}


@pytest.mark.slow
def test_eight_processes_share_a_file(tmp_path):
    script = """
import sys
from directrank.apps.experiments.store import Store
store = Store(sys.argv[1])
for number in range(30):
    store.save([(f"{sys.argv[2]} {number}", "", {"by": sys.argv[2]})])
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(number)], stderr=subprocess.PIPE)
        for number in range(8)
    ]
    messages = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, messages
    keys = [f"{process} {number}" for process in range(8) for number in range(30)]
    assert len(Store(tmp_path).records(keys)) == len(keys)

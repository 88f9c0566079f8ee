"""Writing destroys nothing that is not ours: modes, links, devices, pipes, parts of dead writers."""

import errno
import os
import stat
import subprocess
import sys
import threading

import pytest

from directrank.storage.atomic import (
    is_standard_output,
    is_stream,
    open_atomically,
    remove_stale_parts,
    same_file,
    write_atomically,
    write_folder,
)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("before", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, before):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(before)
    write_atomically(path, "new")
    assert (path.read_text(), mode(path)) == ("new", before)


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_atomically(tmp_path / "file", "new")
    finally:
        os.umask(old)
    assert mode(tmp_path / "file") == 0o640


def test_links_stay_and_their_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    path, link, further = tmp_path / "folder" / "file", tmp_path / "link", tmp_path / "further"
    path.write_text("old")
    link.symlink_to("folder/file")
    further.symlink_to(link)
    write_atomically(further, "new")
    assert link.is_symlink()
    assert further.is_symlink()
    assert path.read_text() == "new"
    assert [each.name for each in (tmp_path / "folder").iterdir()] == ["file"]


def test_a_pipe_is_written_to(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_atomically(path, "through")
    reader.join(30)
    assert read == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert is_stream(path)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_written_in_its_place(name, tmp_path):
    code = (
        "import sys; from directrank.storage.atomic import write_atomically\n"
        "print('before'); write_atomically(sys.argv[1], 'between\\n'); print('after')"
    )
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code, name], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\nbetween\nafter\n"
    piped = subprocess.run([sys.executable, "-c", code, name], capture_output=True, check=True)
    assert piped.stdout == b"before\nbetween\nafter\n"
    assert is_standard_output("-")


def test_a_write_protected_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match=r"write-protected.*file"):
        write_atomically(path, "new")
    assert path.read_text() == "old"


def test_parts_of_dead_writers_go_and_those_of_living_ones_stay(tmp_path):
    code = (
        "import sys, os; from directrank.storage.atomic import open_atomically\n"
        "with open_atomically(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush(); print('ready', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "model.dr"
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    (part,) = tmp_path.iterdir()
    remove_stale_parts(tmp_path)
    assert part.exists()
    writer.kill()
    writer.communicate()
    (tmp_path / ".notes.part").write_text("of another program")
    write_atomically(tmp_path / "other", "new")
    assert sorted(each.name for each in tmp_path.iterdir()) == [".notes.part", "other"]


def test_a_failure_leaves_no_temporary_file(tmp_path):
    writing = open_atomically(tmp_path / "file")
    writing.__enter__().write(b"half")
    assert not writing.__exit__(ValueError, ValueError("of the block"), None)
    assert list(tmp_path.iterdir()) == []


def test_one_file_under_two_names(tmp_path):
    path, hard, soft = tmp_path / "file", tmp_path / "hard", tmp_path / "soft"
    path.write_text("")
    hard.hardlink_to(path)
    soft.symlink_to(path)
    assert same_file(path, hard)
    assert same_file(soft, path)
    assert not same_file(path, tmp_path / "missing")
    assert not same_file("/dev/null", "/dev/null")


def test_a_folder_is_written_with_all_of_its_files_or_with_none(tmp_path, monkeypatch):
    """A disk of 12 bytes holds the first of two files, and not the second."""
    folder = tmp_path / "a" / "b"
    write_folder(folder, {"x": b"old", "y": b"old"})
    written, fsync = [], os.fsync

    def full(descriptor):
        written.append(os.fstat(descriptor).st_size)
        if sum(written) > 12:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    for place, before in ((folder, {"x": b"old", "y": b"old"}), (tmp_path / "c" / "d", None)):
        written.clear()
        with pytest.raises(OSError, match=r"No space left on device; free some space .*: '.*/y'$"):
            write_folder(place, {"x": b"new file", "y": b"new file"})
        assert (None if before is None else {p.name: p.read_bytes() for p in place.iterdir()}) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]
    monkeypatch.undo()
    write_folder(folder, {"x": b"new file"})
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"x": b"new file", "y": b"old"}

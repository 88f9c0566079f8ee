"""The cache of compiled code: whose folders are used, and what becomes of damaged files."""

import fcntl
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba.core.event import Event, EventStatus

from directrank.kernels import code_cache
from directrank.kernels.code_cache import ModuleCode, OneCompiler, copy_shared, is_shared, prepared_folder

PRODUCT = """
import warnings
import numpy as np
warnings.showwarning = lambda message, *_, **__: print(message)
from directrank.kernels.vector_math import extremes
print(*extremes(np.array([3.0, 1.0, 2.0])))
"""


def extremes_of_a_process(folder, code=PRODUCT, **environment) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with the code of one process, which tests copy."""
    folder = tmp_path_factory.mktemp("compiled") / "cache"
    assert extremes_of_a_process(folder) == ["1.0 3.0"]
    return folder


def test_a_new_folder_is_the_users_alone(tmp_path):
    folder = prepared_folder(tmp_path / "cache" / "kernels")
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, mode):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(mode)
    with pytest.raises(OSError, match="others can write to it"):
        prepared_folder(tmp_path / "kernels")


def test_a_folder_that_everyone_can_exchange_is_not_used(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(OSError, match=r"everyone can write to .*open and exchange it"):
        prepared_folder(tmp_path / "open" / "kernels")
    (tmp_path / "open").chmod(0o1777)  # as /tmp is: only owners rename
    prepared_folder(tmp_path / "open" / "kernels")


@pytest.mark.heavy
def test_damaged_and_foreign_files_are_compiled_again(tmp_path):
    assert extremes_of_a_process(tmp_path) == ["1.0 3.0"]
    files = sorted(tmp_path.rglob("extremes*.nb[ic]")) or sorted(tmp_path.rglob("*extremes*.nb[ic]"))
    assert {each.suffix for each in files} == {".nbi", ".nbc"}
    before = {each: each.read_bytes() for each in files}
    # A list as a pickle: whole, but nothing of numba.
    for damage in (
        lambda old: old[: len(old) // 2],
        lambda _: b"",
        lambda _: b"text",
        lambda _: b"\x80\x04]\x94.",
    ):
        for each, content in before.items():
            each.write_bytes(damage(content))
        assert extremes_of_a_process(tmp_path) == ["1.0 3.0"]
        assert all(len(each.read_bytes()) > 10 for each in files)


def with_flipped_bits(path, rng, n_bits):
    """Flip bits as a disk does: size and time stay."""
    facts, content = path.stat(), bytearray(path.read_bytes())
    for place in rng.integers(0, 8 * len(content), n_bits):
        content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def test_every_flipped_bit_is_damage(compiled, tmp_path):
    (folder,) = shutil.copytree(compiled, tmp_path / "cache").glob("kernels/vector_math-*")
    assert ModuleCode(folder).damaged() == []
    rng = np.random.default_rng(1)
    for path in [*folder.rglob("*.nb[ic]")] * 20:
        content = path.read_bytes()
        with_flipped_bits(path, rng, 1)
        assert ModuleCode(folder).damaged() == [path]
        path.write_bytes(content)


def test_what_another_process_writes_is_no_damage(compiled, tmp_path):
    (folder,) = shutil.copytree(compiled, tmp_path / "cache").glob("kernels/vector_math-*")
    digests = (folder / code_cache.DIGESTS).read_bytes()
    (folder / code_cache.DIGESTS).unlink()
    writer, reader = OneCompiler(tmp_path), OneCompiler(tmp_path)
    files = sorted(folder.rglob("*.nb[ic]"))
    event = Event("numba:compiler_lock", EventStatus.START)
    writer.on_start(event)
    waiting = threading.Thread(target=reader.remove_damaged, args=(folder,))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    (folder / code_cache.DIGESTS).write_bytes(digests)
    writer.on_end(event)
    waiting.join()
    assert all(path.exists() for path in files)


def is_locked(folder) -> bool:
    with (folder / ".lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_process_has_the_folder_until_its_last_compilation_ends(tmp_path):
    compiler = OneCompiler(tmp_path)
    event = Event("numba:compiler_lock", EventStatus.START)
    for _ in range(2):
        compiler.on_start(event)
        compiler.on_start(event)
        compiler.on_end(event)
        assert is_locked(tmp_path)
        compiler.on_end(event)
        assert not is_locked(tmp_path)


@pytest.mark.heavy
def test_two_processes_compile_each_version_once_and_mix_up_none(tmp_path):
    """numba alone gives the versions of two processes the same names of files."""
    code = PRODUCT.replace("[3.0, 1.0, 2.0]", "[3.0, 1.0, 2.0], TYPE")
    for _ in range(2):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", code.replace("TYPE", f"np.{each}")],
                env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True,
            )
            for each in ("float32", "float64") * 2
        ]  # fmt: skip
        assert [each.communicate()[0] for each in running] == ["1.0 3.0\n"] * 4
    assert len(list(tmp_path.rglob("*extremes*.nbc"))) == 2


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o775])
def test_a_folder_for_reading_that_others_can_write_is_not_read(tmp_path, monkeypatch, mode):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(mode)
    assert is_shared(tmp_path / "kernels") == (mode == 0o755)


@pytest.mark.parametrize(
    ("user", "owner", "mode", "problem"),
    [
        (1000, 0, 0o755, None),
        (1000, 1000, 0o755, None),
        (1000, 1001, 0o755, "it belongs to another user"),
        (0, 1000, 0o755, "it belongs to another user"),
        (1000, 0, 0o775, "others can write to it"),
        (1000, 0, 0o757, "others can write to it"),
    ],
)
def test_code_of_root_and_of_the_user_is_read(user, owner, mode, problem):
    status = os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0))
    assert code_cache._owner_problem_of(status, (0, user)) == problem


def test_a_shared_file_that_others_can_write_stays_behind(tmp_path):
    source, target = tmp_path / "shared", tmp_path / "own"
    source.mkdir()
    for name, mode in {"a.nbi": 0o644, "a.nbc": 0o666, "b.txt": 0o644, "digests.json": 0o644}.items():
        (source / name).write_bytes(b"code")
        (source / name).chmod(mode)
    copy_shared(source, target)
    assert sorted(path.name for path in target.iterdir()) == ["a.nbi", "digests.json"]
    assert target.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "shared"]
    (source / "c.nbi").write_bytes(b"code")
    copy_shared(source, target)
    assert not (target / "c.nbi").exists()
    source.chmod(0o777)
    copy_shared(source, tmp_path / "another")
    assert not (tmp_path / "another").exists()

"""What an installed directrank must do anywhere: `python smoke.py FOLDER_OF_SAVED_RELEASES`.

Each line that is printed names what was checked, so that the log of a platform says what holds there.
"""

import json
import multiprocessing
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

import directrank
from directrank.storage.atomic import write_atomically


def command(*words: object, code: int = 0) -> str:
    """Run a command of directrank as a process; return what it printed."""
    line = [sys.executable, "-m", "directrank", *map(str, words)]
    # Windows prints accents of paths in its own encoding.
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", errors="replace")
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def scores(path: str) -> np.ndarray:
    """Load a model and score a fixed row: what another process does."""
    return directrank.load(path).predict(np.ones((1, 3)))


def trained_and_used(folder: Path) -> None:
    """Train on a file, rank, evaluate, compare with two processes; in a folder with a difficult name."""
    made = directrank.make_ranking(30, 8, 3, random_state=0)
    data, model = folder / "clicks.txt", folder / "model.dr"
    directrank.write_letor(made, data)
    assert command("--version").startswith(f"directrank {directrank.__version__} (commit ")
    command("fit", "ranksvm", data, "-o", model, "-q")
    command("rank", model, data, "-o", folder / "scores.run", "-q")
    shown = json.loads(command("evaluate", data, folder / "scores.run", "--measures", "nDCG@10", "--json"))
    assert "nDCG@10" in json.dumps(shown)
    print("commands: fit, rank, evaluate; paths with spaces and accents: fine")
    out = folder / "compared"
    command("compare", data, "--kfold", 3, "--methods", "regression,ranksvm", "--jobs", 2, "--out", out, "-q")
    written = {each.name for each in out.iterdir()}
    assert {"results.csv", "results.json", "report.html"} <= written, written
    command("compare", data, "--kfold", 3, "--methods", "regression,ranksvm", "--jobs", 2, "--out", out, "-q")
    print("compare with two worker processes, twice; the second run reuses the store: fine")
    command("fit", "ranksvm", folder / "none.txt", code=3)
    print("exit codes: fine")


def started_in_every_way(model: Path) -> None:
    """Score in processes of every start method that the platform has."""
    wanted = scores(str(model))
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply(scores, (str(model),)) == wanted
        print(f"processes that start by {method}: fine")


def written_at_once(folder: Path) -> None:
    """Replace one file from many threads while others read it: no reader meets a part."""
    path, length, failures = folder / "shared.bin", 1 << 16, []
    write_atomically(path, b"0" * length)

    def replace(letter: int) -> None:
        for _ in range(20):
            try:
                write_atomically(path, bytes([letter]) * length)
            except PermissionError:  # Windows replaces no file that somebody reads; the old content stays.
                if os.name != "nt":
                    raise

    def read() -> None:
        for _ in range(100):
            try:
                content = path.read_bytes()
            except PermissionError:
                if os.name != "nt":
                    raise
                continue
            if len(content) != length or len(set(content)) != 1:
                failures.append(len(content))

    threads = [threading.Thread(target=replace, args=(65 + at,)) for at in range(4)]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures, failures
    assert not list(folder.glob(".shared*")), "temporary files remain"
    print("a file replaced and read at the same time: fine")


def compiled_at_once(folder: Path) -> None:
    """Let three processes compile the same kernels for one empty cache: they wait for each other."""
    script = "from directrank import *; RankSVM().fit(make_ranking(9, 5, 2, random_state=0))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels of three")}
    running = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    assert [each.wait() for each in running] == [0, 0, 0]
    print("one cache of kernels, three processes at once: fine")


def loaded(releases: Path) -> None:
    """Load the models of all releases."""
    count = 0
    for folder in sorted(each for each in releases.iterdir() if each.is_dir()):
        facts = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
        X = np.array(facts["X"], dtype=float)  # None becomes NaN
        for name, wanted in facts["scores"].items():
            found = directrank.load(folder / f"{name}.dr").predict(X, qid=facts["qid"])
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
            count += 1
    assert count, f"no saved models in {releases}"
    print(f"{count} saved models of earlier releases: fine")


def main() -> None:
    """Check everything, in a folder of the current one."""
    print(f"Python {platform.python_version()} on {platform.platform()}")
    assert "site-packages" in directrank.__file__, "this is not the installed package"
    folder = Path("a folder né ü").resolve()
    folder.mkdir()
    trained_and_used(folder)
    started_in_every_way(folder / "model.dr")
    written_at_once(folder)
    compiled_at_once(folder)
    loaded(Path(sys.argv[1]))


if __name__ == "__main__":
    main()

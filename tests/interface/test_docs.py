"""README and docs/: commands that they show can be parsed, and their blocks of code run.

Blocks of Python and of terminal sessions run page by page, in their order, in one folder with the files that
pages name, and what they print is compared where the page shows it. A block of Python whose first line is a
comment with the name of a file is written to that file. A block that does not run has a comment before it:
<!-- not executed: why -->.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from directrank import QueryGroups, RankSVM, convert_data, load, load_letor, make_ranking, save, write_letor
from directrank.apps.cli.app import group
from directrank.apps.cli.demos.shop import write_folds

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- not executed: (?P<why>[^>]+) -->\n)?```(?P<of>python|console)\n(?P<code>.*?)```"
    r"(?:\n\nprints\n\n```text\n(?P<printed>.*?)```)?",
    re.S,
)
#: test_readme.py runs README's code, and test_scaled_… below that of scaling.md.
ELSEWHERE = ("README.md", "scaling.md")
#: Pages whose blocks take more than a moment, or need a library that is no part of the tests.
HEAVY = ("every_day.md", "baselines.md", "recipes.md", "recommenders.md", "start.md", "trees.md")


def commands(page: Path) -> list[list[str]]:
    """The words of each command line of directrank in the blocks of shell commands."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    lines = re.sub(r"\s+#.*|\\\n", " ", "\n".join(blocks))
    # A quoted list of names may go on on the next line.
    return [
        shlex.split(each)
        for each in re.findall(r"""^(?:\.venv/bin/)?directrank ((?:"[^"]*"|[^"\n])*)""", lines, re.M)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_commands_shown_can_be_parsed(page, monkeypatch):
    monkeypatch.setattr("directrank.plugins.load_plugin", lambda path: None)
    for name, *words in commands(page):
        group.commands[name].make_context(name, words).close()


# One of the two engines of opensearch.md is in use.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "opensearch.md"], ids=lambda page: page.name
)
def test_no_store_that_a_page_makes_is_overwritten(page):
    stores = [words[words.index("-o") + 1] for name, *words in commands(page) if name == "convert"]
    assert len({*stores}) == len(stores)


@pytest.mark.parametrize("scaling", ["log", "standard", "none"])
def test_scores_of_a_scaled_model_by_hand(scaling):
    made = make_ranking(20, 8, 4, random_state=0)
    X = np.sign(made.X) * np.expm1(3 * np.abs(made.X))
    X[::7, 1] = np.nan
    ranker = RankSVM(scaling=scaling).fit(X, made.relevance, qid=made.qid)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "scaling.md").read_text(), re.S)
    lines = [line for line in code.splitlines() if scaling == "log" or "logarithm" not in line]
    names = {"np": np, "ranker": ranker, "X": X}
    exec("\n".join(lines), names)
    assert len(code.splitlines()) <= 6
    np.testing.assert_allclose(names["scores"], ranker.predict(X), rtol=1e-12)


def blocks(page: Path) -> list[re.Match]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def running(page: Path) -> list[re.Match]:
    return [each for each in blocks(page) if not each["why"]]


def prepared() -> dict:
    """Write the files that pages name to the current folder; return the names that they take for granted."""
    write_folds(make_ranking(45, 8, 4, random_state=5), Path("OHSUMED"))
    train, vali, test = load_letor("OHSUMED/Fold1")
    for name, part in (("train", train), ("vali", vali), ("test", test)):
        write_letor(part, f"{name}.txt")
    convert_data("train.txt", "train.store")
    ranker = RankSVM().fit(train)
    save(ranker, "model.dr")
    shutil.copy(ROOT / "docs" / "examples" / "movies.py", ".")
    frame = pd.DataFrame(train.X, columns=["bm25_title", "bm25_body", "price", "other"])
    frame = frame.assign(search_id=train.qid, clicked=train.relevance, brand="none")
    frame.to_parquet("clicks.parquet")
    sizes, sizes_valid = (np.unique(each.qid, return_counts=True)[1] for each in (train, vali))
    return {
        "train": train, "vali": vali, "test": test, "ranker": ranker, "load": load, "frame": frame, "np": np,
        "scores": ranker.predict(test), "background": np.arange(5), "X": train.X, "y": train.relevance,
        "qid": train.qid, "sizes": sizes, "X_valid": vali.X, "y_valid": vali.relevance,
        "sizes_valid": sizes_valid,
    }  # fmt: skip


def wordings(text: str) -> list[str]:
    """Lines without their numbers, whose last digits depend on the processor, and without columns."""
    return [" ".join(re.sub(r"[-+]?[\d.,]*\d(e-?\d+)?", "#", line).split()) for line in text.splitlines()]


def run_session(code: str, folder: Path) -> None:
    """Run the lines that begin with $, and look for the lines shown below each in what it prints."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, words in (("python", ""), ("directrank", "-m directrank ")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (programs / name).chmod(0o755)
    steps = [
        each.partition("\n")[::2] for each in re.split(r"^\$ ", code.replace("\\\n", " "), flags=re.M)[1:]
    ]
    mark = "== end of a step =="
    script = "exec 2>&1\ntrap 'kill $(jobs -p) 2>&-' EXIT\n" + "".join(
        f"{command}\necho '{mark}'\n" for command, _ in steps
    )
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-e", "-c", script], env=environment, capture_output=True, text=True)
    assert len(done.stdout.split(mark)) == len(steps) + 1, done.stdout
    for (command, shown), printed in zip(steps, done.stdout.split(mark), strict=False):
        lines = wordings(printed)
        for line in wordings(shown):
            assert line in ("", "…") or line in lines, f"$ {command}\n{line}\nis not in\n{printed}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=f"{page.name}: {len(running(page))} of {len(blocks(page))} blocks",
            marks=[pytest.mark.heavy] * (page.name in HEAVY),
        )
        for page in PAGES
        if running(page) and page.name not in ELSEWHERE
    ],
)
@pytest.mark.filterwarnings("ignore")  # as for a reader, for whom they are no errors
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = prepared()
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    for block in running(page):
        code = block["code"].replace("8000", port)
        file = re.match(r"# (\w+\.py)\n", code)
        if file:
            Path(file[1]).write_text(code, encoding="utf-8")
        elif block["of"] == "console":
            if not (shutil.which("bash") and shutil.which("curl")):
                pytest.skip("sessions need bash and curl")
            run_session(code, tmp_path)
        else:
            for library in re.findall(
                r"^(?:import|from) (optuna|mlflow|shap|pyterrier|ir_datasets)", code, re.M
            ):
                pytest.importorskip(library)
            capsys.readouterr()
            exec(compile(code, page.name, "exec"), names)
            assert block["printed"] in (None, capsys.readouterr().out)


@pytest.mark.heavy
def test_the_server_shown_answers_beside_a_connection_that_sends_nothing(tmp_path):
    (code,) = (
        each["code"] for each in blocks(ROOT / "docs" / "start.md") if each["code"].startswith("# serve.py")
    )
    idle = socket.socket()
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = free.getsockname()
        idle.bind(("localhost", 0))  # from another port than that of the server
    (tmp_path / "serve.py").write_text(code.replace("8000", str(address[1])), encoding="utf-8")
    save(RankSVM().fit(QueryGroups([[0.0], [1.0]], [0, 1], [1, 1])), tmp_path / "model.dr")
    server = subprocess.Popen([sys.executable, "serve.py"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        with idle:
            while server.poll() is None and idle.connect_ex(address):
                time.sleep(0.1)
            asked = urllib.request.Request(f"http://localhost:{address[1]}", b'[{"f1": 2}, {"f1": 5}]')
            assert urllib.request.urlopen(asked, timeout=60).read() == b"[1, 0]\n"
    finally:
        server.kill()
        server.wait()

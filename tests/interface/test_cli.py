"""The command line: what it prints, where, and the code it ends with."""

import csv
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run
from directrank import __version__, make_ranking, write_letor
from directrank.apps.cli.demos.shop import write_folds
from directrank.estimators import Regression, methods
from directrank.estimators.methods import Method


@pytest.fixture(scope="module")
def groups():
    return make_ranking(36, 7, 4, random_state=3)


@pytest.fixture
def folder(groups, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folds(groups, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def fold(folder):
    return folder / "Fold1"


def one_line(capsys, code: int, *arguments) -> str:
    """Run what must fail with a code, print nothing on stdout, and end in one line; return that line."""
    ended, out, err = run(capsys, *arguments)
    lines = err.splitlines()
    assert (ended, out, lines[-1].startswith("directrank: ")) == (code, "", True), (ended, out, err)
    assert "Traceback" not in err
    assert len(lines) == 1, err
    return lines[0]


def test_dry_run_trains_and_writes_nothing(folder, capsys):
    grid = 4 * 3  # steepness × penalty
    code, out, _ = run(capsys, "compare", folder, "--methods", "regression,approxap", "--dry-run")
    assert code == 0
    assert out == f"{3 * (1 + grid)} fits: 2 methods, 3 folds of data\n"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["data"]
    _, out, _ = run(capsys, "compare", folder, "--methods", "regression", "--dry-run", "--json")
    assert json.loads(out) == {"cells": 3, "finished": 0, "fits": 3, "fits_left": 3}


def test_names_that_spreadsheets_run_as_formulas(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["=1+1", "+1", "-x", "@SUM(A1)", "\t=1", "plain", "a=b", "5"]
    rows = ["qid,docid,label,x", *(f"q,{name},{at % 2},{at}" for at, name in enumerate(names))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert run(capsys, "fit", "regression", "a.csv", "-o", "m.dr")[0] == 0
    _, plain, err = run(capsys, "rank", "m.dr", "a.csv", "--format", "csv")
    assert [row[1] for row in csv.reader(plain.splitlines()[1:])] == names
    assert "5 names begin as formulas of spreadsheets do, such as '=1+1': --format spreadsheet" in err
    _, quoted, err = run(capsys, "rank", "m.dr", "a.csv", "--format", "spreadsheet")
    expected = ["'=1+1", "'+1", "'-x", "'@SUM(A1)", "'\t=1", "plain", "a=b", "5"]
    assert [row[1] for row in csv.reader(quoted.splitlines()[1:])] == expected
    assert "formulas" not in err


class Broken(Regression):
    def fit(self, X, y=None, qid=None, **options):
        raise ZeroDivisionError("nothing works")


class Stopped(Regression):
    def fit(self, X, y=None, qid=None, **options):
        raise KeyboardInterrupt


@pytest.fixture
def misbehaving(monkeypatch):
    fakes = (
        Method("regression", Regression, "works", "no paper"),
        Method("broken", Broken, "fails", "no paper"),
        Method("stopped", Stopped, "is stopped", "no paper"),
    )
    monkeypatch.setattr(methods, "METHODS", fakes)


def test_interrupted_comparison_says_how_to_go_on(folder, misbehaving, capsys):
    line = one_line(
        capsys, 130, "compare", folder, "--methods", "regression,stopped", "--out", "run", "--quiet"
    )
    assert "1 of 6 cells are finished and saved in run: rerun the same command" in line
    line = one_line(
        capsys, 130, "compare", folder, "--methods", "stopped,regression", "--out", "run", "--quiet"
    )
    assert "1 of 6 cells are finished and saved in run" in line


def test_fit_trains_on_validation_data_where_it_is_asked_to(fold, capsys):
    words = ("fit", "ranksvm", fold / "train.txt", "--valid", fold / "vali.txt")
    code, out, _ = run(capsys, *words, "--refit")
    assert code == 0
    assert "trained at the end on all" in out
    assert "vali 0" not in out, "no figure of what it was trained on"
    code, out, _ = run(capsys, *words)
    assert "at the end" not in out
    assert "vali 0" in out
    auto = ("auto", "--set", "members=ranksvm", "--set", "prior=1")
    code, out, _ = run(capsys, words[0], *auto, *words[2:], "--measure", "AP")
    assert "trained at the end on all" in out
    code, out, _ = run(capsys, words[0], *auto, *words[2:], "--no-refit")
    assert "at the end" not in out
    assert "prior 0." in out
    line = one_line(capsys, 2, "fit", "ranksvm", fold / "train.txt", "--refit")
    assert "--refit: there are no validation data to train on; name a file by --valid" in line
    code, _, err = run(capsys, *words[:1], "auto", *words[2:], "--set", "prior=bm25")
    assert (code, err.splitlines()[-1]) == (
        3, "directrank: prior: there is no feature 'bm25'; there are 1, 2, 3, 4",
    )  # fmt: skip


def test_trec_run(tmp_path, monkeypatch, capsys):
    """Higher scores first; ties in the order of the rows; queries may be interleaved."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("0 qid:1 1:0\n1 qid:1 1:1\n")
    (tmp_path / "docs.txt").write_text(
        "0 qid:b 1:1 #docid = d1\n0 qid:b 1:2 #docid = d2\n0 qid:a 1:5 #docid = d3\n"
        "0 qid:a 1:5 #docid = d4\n0 qid:a 1:9 #docid = d5\n"
    )
    run(capsys, "fit", "regression", "train.txt", "-o", "model.dr", "--quiet")
    code, out, _ = run(capsys, "rank", "model.dr", "docs.txt", "--format", "trec", "--tag", "mine")
    assert code == 0
    fields = [line.split() for line in out.splitlines()]
    assert [(f[0], f[1], f[2], f[3], f[5]) for f in fields] == [
        ("b", "Q0", "d2", "1", "mine"),
        ("b", "Q0", "d1", "2", "mine"),
        ("a", "Q0", "d5", "1", "mine"),
        ("a", "Q0", "d3", "2", "mine"),
        ("a", "Q0", "d4", "3", "mine"),
    ]
    assert float(fields[2][4]) == 9 * float(fields[1][4])
    (tmp_path / "docs.txt").write_text("0 qid:b 1:1 # two words\n0 qid:b 1:2 # two others\n")
    refused = one_line(capsys, 3, "rank", "model.dr", "docs.txt", "--format", "trec")
    assert "'two words' of document 1 is not one word" in refused
    # What the line names does the job: a table with these names, which evaluate reads.
    assert "ends in .csv, without --format trec" in refused
    assert run(capsys, "rank", "model.dr", "docs.txt", "-o", "ranked.csv")[0] == 0
    assert "b,two words," in (tmp_path / "ranked.csv").read_text()
    assert run(capsys, "evaluate", "docs.txt", "ranked.csv", "--measures", "RR")[0] == 0
    (tmp_path / "docs.txt").write_text("0 qid:b 1:1\n0 qid:b 1:2\n")
    _, out, _ = run(capsys, "rank", "model.dr", "docs.txt", "--format", "trec")
    assert [line.split()[2] for line in out.splitlines()] == ["2", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["compare", "data", "data"], "expected one folder, one file or three files, got 2"),
        (["compare", "data", "--measures", "nDGC@10"], "--measures nDGC@10: no measure is called 'nDGC@10'"),
        (
            ["compare", "data", "--methods", "regression", "--baseline", "adarank"],
            "is not one of the methods",
        ),
        (
            ["compare", "data", "--methods", "adarank(AP),adarank(P@5)", "--baseline", "adarank"],
            "adarank is adarank(AP), adarank(P@5); name one of them",
        ),
        (["fit", "approxap", "data/Fold1/train.txt", "--set", "steepness"], "expected NAME=VALUE"),
        (["fit", "all", "data/Fold1/train.txt"], "fit trains one method"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_ends_in_two(folder, capsys, arguments, message):
    assert message in one_line(capsys, 2, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "nowhere"], "nowhere: no such file or folder"),
        (["fit", "regression", "bad.txt"], "bad.txt:1:3"),
        (["rank", "bad.txt", "data/Fold1/test.txt"], "bad.txt: not a model of directrank"),
        (["evaluate", "data/Fold1/test.txt", "few.txt"], "few.txt: holds 2 scores"),
        (["evaluate", "data/Fold1/test.txt", "nan.txt"], "nan.txt:1:1: the score is NaN"),
        (["report", "data"], "data/results.json: no results here"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_unusable_data_ends_in_three(folder, capsys, arguments, message):
    (folder.parent / "bad.txt").write_text("0 quid:1 1:0.5\n")
    (folder.parent / "few.txt").write_text("0.5\n0.25\n")
    (folder.parent / "nan.txt").write_text("nan\n")
    assert message in one_line(capsys, 3, *arguments, *(["-q"] if arguments[0] in ("compare", "fit") else []))


def test_a_bug_is_called_one(folder, capsys, monkeypatch):
    def bug(*_, **__):
        raise RuntimeError("impossible")

    monkeypatch.setattr("directrank.apps.experiments.read_results", bug)
    assert "RuntimeError: impossible (a bug:" in one_line(capsys, 1, "report", "nowhere")
    assert "Traceback" in run(capsys, "report", "nowhere", "--debug")[2]


def test_doctor_compiles_all_kernels(capsys, monkeypatch):
    done = []
    steps = [("one", lambda: done.append(1)), ("two", lambda: done.append(2))]
    monkeypatch.setattr("directrank.apps.cli.warming.warm_steps", lambda *_: steps)
    code, out, _ = run(capsys, "doctor", "--warm")
    assert code == 0
    assert done == [1, 2]
    assert "all kernels in 0 s" in out


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "directrank", *map(str, arguments)], capture_output=True, text=True, **options
    )


@pytest.mark.heavy
def test_help_and_version_as_processes():
    shown = command("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "compare" in shown.stdout
    # Sources without a repository have no commit.
    commit = r"( \(commit [0-9a-f]{12}(-dirty)?\))?"
    assert re.fullmatch(rf"directrank {re.escape(__version__)}{commit}\n", command("--version").stdout)


def test_the_short_help_has_the_options_of_every_day(capsys):
    code, out, _ = run(capsys, "compare", "--help")
    assert (code, "--split-last N" in out, "--first-stage" in out) == (0, True, False)
    assert "more options: directrank compare --help-all" in out
    assert "--first-stage" in run(capsys, "compare", "--help-all")[1]


def test_the_page_of_the_command_line_has_the_help_of_every_command(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # The page is made in a width of its own, which ends with the test.
    page = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "generated.py"))["command_line"]()
    sections = re.findall(r"^## (.+)\n\n```text\nUsage: \1 ", page, re.M)
    assert {"directrank", "directrank fit", "directrank doctor"} <= set(sections)
    assert len(sections) == page.count("\n## ")
    # An error has the first line of the help too.
    assert "Error" not in page
    assert page.count("\nOptions:\n") >= len(sections)


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from directrank.apps.cli import main; main(['--help']); "
        "print([m for m in ('numpy', 'numba', 'scipy', 'sklearn') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_python_fits_arrays_without_scikit_learn():
    """Its import takes longer than a fit; arrays that are right need none of its checks."""
    script = (
        "import sys, numpy as np, directrank; X, y = np.eye(6), np.array([0, 1, 2, 0, 1, 0]); "
        "directrank.RankSVM().fit(X, y, qid=[1, 1, 1, 2, 2, 2]).score(X, y, qid=[1, 1, 1, 2, 2, 2]); "
        "print([m for m in ('sklearn', 'pandas', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_import_is_lazy():
    script = "import sys, directrank; print([m for m in ('numpy', 'numba', 'sklearn') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert shown.stdout == "[]\n"


@pytest.mark.heavy
def test_commands_import_no_scikit_learn(fold, monkeypatch):
    """It and what it imports take longer than training does."""
    monkeypatch.chdir(fold)
    commands = (
        "fit ranksvm train.txt --valid vali.txt -o model.dr --quiet", "rank model.dr test.txt -o scores.txt",
        "export model.dr --to sql -o model.sql", "evaluate test.txt scores.txt",
    )  # fmt: skip
    script = "import sys; from directrank.apps.cli import main; {}; print([*sys.modules])"
    script = script.format("; ".join(f"assert main({command.split()}) == 0" for command in commands))
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = shown.stdout.splitlines()[-1]
    assert "'directrank.apps.cli'" in loaded
    for name in (
        "sklearn",
        "scipy.stats",
        "scipy.optimize",
        "scipy.special",
        "scipy.fft",
        "pandas",
        "joblib",
    ):
        assert f"'{name}'" not in loaded


def test_a_process_that_ends_searches_for_no_garbage():
    """It takes a tenth of the time of a short command."""
    # What is registered first runs last.
    script = (
        "import atexit, gc; atexit.register(lambda: print(len(gc.get_objects()))); "
        "from directrank.apps.cli import main; main(['measures', '--json'])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(shown.stdout.splitlines()[-1]) < 1000


@pytest.mark.heavy
def test_closed_pipe_is_no_error(fold, groups, capsys):
    """`directrank rank … | head -1`: the reader goes away long before the text ends."""
    run(capsys, "fit", "regression", fold / "train.txt", "-o", "model.dr", "--quiet")
    write_letor(make_ranking(600, 20, 4, random_state=1), "many.txt")
    process = subprocess.Popen(
        [sys.executable, "-m", "directrank", "rank", "model.dr", "many.txt"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    lines = [line for line in process.stderr.read().splitlines() if not line.startswith(b"Compiling kernels")]
    process.stderr.close()
    assert (process.wait(), lines) == (0, [])


def test_audit_prints_a_table_json_and_a_picture(fold, capsys, tmp_path):
    model, picture = tmp_path / "model.dr", tmp_path / "audit.svg"
    assert run(capsys, "fit", "svmmap", fold / "train.txt", "-o", model, "-q")[0] == 0
    code, out, err = run(capsys, "audit", model, fold / "test.txt", "--picture", picture)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if not line.startswith(" ")][2:] == [
        "type one:", "approximation:", "type two:", "bound:",
    ]  # fmt: skip
    figures = [line for line in lines if re.search(r"\d\.\d{4}  ", line) and line.split()[-1] == "yes"]
    assert len(figures) >= 7  # two of type one, five of type two
    assert f"Written: {picture}" in err
    assert "that a ranking attains" in err
    drawn = picture.read_text()
    assert drawn.startswith("<svg")
    assert all(name in drawn for name in ("margin-rescaled hinge, Eq. (9)", "step, Eq. (6)", "1 − E"))

    code, out, err = run(capsys, "audit", model, fold / "test.txt", "--measure", "nDCG@3", "--json")
    found = json.loads(out)
    assert (code, err, found["measure"]) == (0, "", "nDCG@3")
    assert len(found["loss"]["per_query"]) == found["n_queries"] == len(found["qid"])
    assert all(len(row["per_query"]) == found["n_queries"] for row in found["rows"])

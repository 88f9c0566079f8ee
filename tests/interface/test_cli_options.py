"""Options of the commands: help, errors in the words that were typed, targets, settings and grids."""

import csv
import subprocess
import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import get_args

import pytest
import typer

from commands import run
from directrank import load, make_ranking
from directrank.apps.cli.app import group
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.cli.options import JSON, Target, expanded
from directrank.estimators.documents import names_of_features


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folds(make_ranking(24, 6, 3, random_state=3), tmp_path / "data")
    return tmp_path


def refused(capsys, *arguments) -> str:
    """Run what must end with exit code 2 and one line; return that line."""
    code, out, err = run(capsys, *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1), (out, err)
    return err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--measures", "AP,NGCD@10", "Did you mean nDCG@10?"),
        ("--select-by", "WPD", "WPD is an error"),
        ("--restarts", "-1", "must be 0 or more"),
        ("--search", "random", "expected grid, or random:N"),
        ("--methods", "adarnk", "did you mean adarank?"),
        ("--set", "penalti=0.1", "did you mean penalty?"),
        ("--set", "ranksvm.rounds=1", "ranksvm has no parameter rounds"),
        ("--grid", "penalty=low,high", "penalty must be a number > 0"),
    ],
)
def test_errors_begin_with_the_option_as_typed(folder, capsys, option, value, message):
    methods = [] if option == "--methods" else ["--methods", "ranksvm,adarank"]
    line = refused(capsys, "compare", "data", *methods, option, value)
    assert line.startswith(f"directrank: {option} {value}: ")
    assert message in line


@pytest.mark.parametrize(("method", "goal"), [("listnet", "its own loss"), ("approxap", "AP")])
def test_a_measure_for_a_method_that_takes_none_selects(folder, capsys, method, goal):
    train, words = "data/Fold1/train.txt", ("--measure", "nDCG@5")
    code, out, err = run(capsys, "fit", method, train, *words)
    assert code == 0
    assert (
        f"--measure nDCG@5: {method} trains for {goal}; the measure selects, as --select-by nDCG@5\n" in err
    )
    assert run(capsys, "fit", method, train, "--select-by", "nDCG@5")[1] == out
    line = refused(capsys, "fit", method, train, *words, "--select-by", "AP")
    assert f"{method} takes no measure to train for; omit this option" in line


@pytest.mark.parametrize("typed", ["normalise=True", "normalise=true", "normalise=TRUE"])
def test_brackets_and_set_have_one_grammar(folder, capsys, typed):
    train = "data/Fold1/train.txt"
    code, out, _ = run(capsys, "fit", f"ranksvm({typed})", train)
    assert code == 0
    assert run(capsys, "fit", "ranksvm", train, "--set", typed)[1].splitlines()[1:] == out.splitlines()[1:]
    for word in ("scaling=log", 'scaling="log"', "scaling='log'"):
        assert run(capsys, "fit", f"ranksvm({word})", train)[0] == 0
        assert run(capsys, "fit", "ranksvm", train, "--set", word)[0] == 0


def test_lists_that_are_given_several_times_add_up(folder, capsys):
    file = folder / "a.csv"
    rows = [[f"q{at // 6}", at % 2, at * at % 7, at % 5, at % 3] for at in range(72)]
    file.write_text("qid,label,a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    for words in (["--drop", "a,b"], ["--drop", "a", "--drop", "b"]):
        code, _, _ = run(capsys, "fit", "regression", file, *words, "-o", "m.dr")
        assert (code, list(names_of_features(load("m.dr")))) == (0, ["c"])
    assert "'zz'" in run(capsys, "fit", "regression", file, "--drop", "zz", "--drop", "a")[2]
    data = ("compare", file, "--kfold", "3", "--out", "runs")
    methods = ("--methods", "regression", "--methods", "adarank(AP),listnet")
    measures = ("--measures", "AP", "--measures", "P@1,RR", "--no-audit", "--json")
    assert run(capsys, *data, *methods, *measures, "--seeds", "1", "--seeds", "2")[0] == 0
    with open("runs/results.csv", encoding="utf-8") as results:
        cells = list(csv.DictReader(results))
    assert {cell["measure"] for cell in cells} == {"AP", "P@1", "RR"}
    assert {"regression", "adarank(AP)", "listnet"} <= {cell["method"] for cell in cells}


@pytest.fixture
def read_nothing(monkeypatch):
    readers = "directrank.files.read_letor", "directrank.files.reading.scan_files"
    for name in (*readers, "directrank.files.folds.Fold.load", "directrank.models.load"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("data were read"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "regression", "data/Fold1/train.txt", "-o", "no/model.dr"], "there is no folder no"),
        (["fit", "regression", "data/Fold1/train.txt", "-o", "data/Fold1/train.txt/m.dr"], "is a file"),
        (["rank", "model.dr", "data/Fold1/test.txt", "-o", "no/scores.txt"], "there is no folder no"),
        (["compare", "data", "--out", "data/Fold1/train.txt"], "is a file; name a folder"),
        (["demo", "--out", "data/Fold1/train.txt"], "is a file; name a folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_targets_are_checked_before_anything_is_read(folder, read_nothing, capsys, arguments, message):
    line = refused(capsys, *arguments)
    assert message in line
    assert line.startswith("directrank: --")


def sample(
    source: Path,
    rest: list[Path] | None = None,
    *,
    n_rows: int = 3,
    out: Target | None = None,
    names: Sequence[str] = (),
    json: JSON = False,
) -> tuple:
    """Do something.

    Note: this is prose.

    DATA: What is read.
    [MORE…]: What is read, too.
    --n-rows N: How many; by default
        a few. [default: 3]
    -o --out FILE: What is written.
    --names A,B: With commas.
    """
    return source, rest, n_rows, out, names, json


def test_the_lines_of_a_docstring_declare_arguments_and_options():
    command = expanded(sample)
    assert command.__doc__ == "Do something.\n\nNote: this is prose."
    values = command(source=Path("a"), rest=None, n_rows=4, out=None, names=["b,c", "d"], json=True)
    assert values == (Path("a"), None, 4, None, ["b", "c", "d"], True)
    declared = [get_args(each.annotation)[1] for each in signature(command).parameters.values()]
    assert {each.metavar: each.help for each in declared[:5]} == {
        "DATA": "What is read.",
        "[MORE…]": "What is read, too.",
        "N": "How many; by default a few.  [default: 3]",
        "FILE": "What is written.",
        "A,B": "With commas.",
    }
    assert [each.metavar for each in declared[:5]] == ["DATA", "[MORE…]", "N", "FILE", "A,B"]
    with pytest.raises(typer.BadParameter, match="the name is empty"):
        declared[3].parser("")


@pytest.mark.parametrize(
    ("command", "line"), [(["features"], "--out"), ([], "Turn documents into a store, w")]
)
def test_the_help_is_that_of_the_source_where_python_removes_docstrings(command, line):
    words = [sys.executable, "-OO", "-m", "directrank", *command, "--help"]
    printed, usual = (
        subprocess.run(each, capture_output=True, text=True, check=True).stdout
        for each in (words, [words[0], *words[2:]])
    )
    assert printed == usual
    assert line in printed


def test_a_line_about_no_parameter_is_a_mistake():
    def command(*, first: int = 1):
        """Do.

        --fisrt N: One.
        """

    with pytest.raises(AssertionError, match="fisrt"):
        expanded(command)


@pytest.mark.parametrize("name", group.commands)
def test_every_argument_and_option_has_a_sentence(name):
    assert not [each.name for each in group.commands[name].params if not each.help]


@pytest.mark.parametrize("name", group.commands)
def test_usage_has_each_argument_in_one_pair_of_brackets(name):
    command = group.commands[name]
    assert "[[" not in command.get_usage(command.context_class(command, info_name=name))

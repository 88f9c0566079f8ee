"""What commands do to files: outputs that are inputs, folders of others, empty names, closed streams."""

import subprocess
import sys

import pytest

from directrank import load, make_ranking
from directrank.apps.cli import main
from directrank.apps.cli.demos.shop import write_folds
from groups import first_group


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folds(make_ranking(24, 6, 3, random_state=3), tmp_path / "data")
    return tmp_path


def refused(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    return captured.err


TRAIN, FIT = "data/Fold1/train.txt", ["fit", "regression", "data/Fold1/train.txt", "-q"]


def test_an_output_that_is_an_input_is_refused(folder, capsys):
    before = (folder / TRAIN).read_bytes()
    (folder / "link").symlink_to(TRAIN)
    (folder / "hard").hardlink_to(folder / TRAIN)
    for out in (TRAIN, "link", "hard"):
        assert f"this is the input {TRAIN}" in refused(capsys, *FIT, "-o", out)
    assert main([*FIT, "-o", "m.dr"]) == 0
    capsys.readouterr()
    assert "this is the input m.dr" in refused(capsys, "rank", "m.dr", TRAIN, "-o", "m.dr")
    assert f"this is the input {TRAIN}" in refused(capsys, "rank", "m.dr", TRAIN, "-o", "hard")
    assert "this is the input m.dr" in refused(capsys, "audit", "m.dr", TRAIN, "--picture", "m.dr")
    assert (folder / TRAIN).read_bytes() == before


@pytest.mark.parametrize("command", [["compare", "data", "--methods", "regression"], ["demo"]])
def test_a_folder_of_others_is_refused(folder, capsys, command):
    (folder / "theirs").mkdir()
    (folder / "theirs" / "results.csv").write_text("of another program")
    message = refused(capsys, *command, "--out", "theirs")
    assert "the folder holds 'results.csv', and no results of directrank" in message
    assert "--force" in message
    assert [each.name for each in (folder / "theirs").iterdir()] == ["results.csv"]
    assert "the folder holds 'data'" in refused(capsys, *command, "--out", ".")


def test_a_folder_of_others_is_taken_by_force_and_then_ours(folder, capsys):
    (folder / "theirs").mkdir()
    (folder / "theirs" / "notes.txt").write_text("of another program")
    command = ["compare", "data", "--methods", "regression", "--measures", "AP", "-q", "--out", "theirs"]
    assert main([*command, "--force"]) == 0
    assert main(command) == 0
    assert (folder / "theirs" / "notes.txt").read_text() == "of another program"


def test_a_model_goes_to_standard_output(folder, capfdbinary):
    assert main([*FIT, "-o", "-"]) == 0
    printed = capfdbinary.readouterr()
    assert b"saved: -" in printed.err
    assert main([*FIT, "-o", "m.dr"]) == 0
    assert printed.out == (folder / "m.dr").read_bytes()
    assert main([*FIT, "-o", "-", "--json"]) == 2
    assert b"name a file" in capfdbinary.readouterr().err


@pytest.mark.heavy
@pytest.mark.parametrize(
    "closed", first_group([">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"], lambda each: each.startswith("<"))
)
def test_closed_streams_are_no_failure_and_take_nothing(folder, closed):
    command = f"{sys.executable} -m directrank fit regression {TRAIN} -o m.dr {closed}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    load(folder / "m.dr")
    wrong = subprocess.run(["bash", "-c", f"{command} --seed x"], capture_output=True, text=True)
    assert wrong.returncode == 2

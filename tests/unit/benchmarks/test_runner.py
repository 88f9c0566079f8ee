"""A run: what fails is a row, what was stopped goes on, what got worse is named."""

from dataclasses import replace

import pytest

from benchmarks import __main__ as command
from benchmarks import measuring, runner
from benchmarks.__main__ import main
from benchmarks.case import Case, Figure, NotMeasuredError
from benchmarks.cases import load_cases
from benchmarks.measuring import Effort
from benchmarks.results.comparison import changes
from benchmarks.results.records import Record, Row, read_record

EFFORT = Effort(repetitions=2, attempts=1)
MACHINE = {"processor": "P", "cores": "2"}


@pytest.fixture(autouse=True)
def unmeasured_machine(monkeypatch):
    """Cases say their seconds themselves, so that the speed of this machine is not of interest."""
    monkeypatch.setattr(runner, "gigabytes_a_second", lambda: 1.0)
    monkeypatch.setattr(measuring, "CALIBRATION_ROUNDS", 1)
    monkeypatch.setattr(measuring, "MOST_DRIFT", 1e9)


def case(name, prepare=None):
    return Case(name, "this", "that", prepare or (lambda: (lambda: Figure(1.0), lambda: Figure(3.0))), True)


def raising(error):
    def prepare():
        raise error

    return prepare


def run(cases, tmp_path, record=None):
    record, lines = record or Record(dict(MACHINE), {}), []
    return runner.run(cases, record, tmp_path, EFFORT, lines.append), record, lines


def test_cases_use_names_that_the_library_has():
    _, problems = load_cases()
    assert not [text for text in problems.values() if "'directrank" in text or "'benchmarks" in text]


def test_a_failure_is_one_line_and_the_rest_goes_on(tmp_path):
    cases = [
        case("a/1", raising(ZeroDivisionError("by\nzero"))),
        case("a/2", raising(NotMeasuredError("no wheel"))),
        case("a/3", raising(ImportError("No module named 'x'"))),
        case("a/4"),
    ]
    _, record, _ = run(cases, tmp_path)
    assert [row.problem for row in record.rows] == [
        "ZeroDivisionError: by", "no wheel", "No module named 'x'", "",
    ]  # fmt: skip
    assert [row.failed for row in record.rows] == [True, False, False, False]


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(tmp_path):
    cases = [case("a/1"), case("a/2", raising(KeyboardInterrupt())), case("a/3")]
    complete, _, _ = run(cases, tmp_path)
    assert not complete
    again = read_record(tmp_path / "results.json")
    assert [row.name for row in again.rows] == ["a/1"]
    left = runner.still_to_measure(again, cases)
    assert [each.name for each in left] == ["a/2", "a/3"]
    complete, record, _ = run([case("a/2"), case("a/3")], tmp_path, again)
    assert complete
    assert {row.name for row in record.rows} == {"a/1", "a/2", "a/3"}
    assert runner.still_to_measure(record, cases) == cases


FAST, LONG = Row("a/fast", faster=True, ratio=10.0), Row("a/long", ratio=2.0)


def compared(*rows):
    return changes(
        Record(MACHINE, {"numpy": "2"}, rows=[*rows]), Record(MACHINE, {"numpy": "1"}, rows=[FAST, LONG])
    )


def test_what_got_worse_or_better_by_ten_percent_is_named():
    found = compared(replace(FAST, ratio=8.9), replace(LONG, ratio=1.7))
    assert [each.row.name for each in found.worse] == ["a/fast"]
    assert [each.row.name for each in found.better] == ["a/long"]
    assert found.versions == {"numpy": ("1", "2")}
    found = compared(replace(FAST, ratio=11.2), replace(LONG, ratio=2.3))
    assert [each.row.name for each in found.worse] == ["a/long"]
    assert [each.row.name for each in found.better] == ["a/fast"]
    assert not compared(replace(FAST, ratio=9.2), replace(LONG, ratio=2.1)).worse


def test_what_is_noisy_is_named_if_it_doubled():
    found = compared(replace(FAST, ratio=5.1, noisy=True), replace(LONG, ratio=4.1, noisy=True))
    assert [each.row.name for each in found.worse] == ["a/long"]


def test_names_of_cases_are_unique_and_have_a_topic():
    names = [case.name for case in load_cases()[0]]
    assert len(set(names)) == len(names)
    assert all(name.partition("/")[2] for name in names)


def test_a_run_of_the_command_writes_the_page_and_names_what_got_worse(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "load_cases", lambda: ([case("a/1"), case("b/1")], {"c": "no such file"}))
    monkeypatch.setattr(command, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(command, "DOCUMENT", tmp_path / "speed.md")
    words = ["--out", str(tmp_path / "out"), "--repetitions", "2"]
    assert main([*words, "--record"]) == 0
    (path,) = (tmp_path / "records").glob("*.json")
    assert [row.name for row in read_record(path).rows] == ["a/1", "b/1", "c/all"]
    assert "3.00 times as fast" in (tmp_path / "speed.md").read_text()
    slower = case("a/1", lambda: (lambda: Figure(1.2), lambda: Figure(3.0)))
    monkeypatch.setattr(command, "load_cases", lambda: ([slower, case("b/1")], {}))
    capsys.readouterr()
    assert main(words) == 1
    assert "a/1: 3.00 → 2.50 times as fast" in capsys.readouterr().out
    assert "a/1: 3.00 → 2.50" in (tmp_path / "out" / "speed.html").read_text()
    broken = case("a/1", raising(ZeroDivisionError("x")))
    monkeypatch.setattr(command, "load_cases", lambda: ([broken], {}))
    assert main(words) == 4

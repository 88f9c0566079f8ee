"""The vectors of `directrank measures --vectors`: made by enumeration, which shares no code with us."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vectors
from directrank import evaluate
from directrank.apps.cli import main
from directrank.apps.evaluation import measure_vectors

CASES = vectors.cases()


def test_the_file_is_what_enumeration_gives(capsys):
    assert measure_vectors() == json.loads(json.dumps(CASES))
    assert len(CASES) >= 300
    assert main(["measures", "--vectors"]) == 0
    assert json.loads(capsys.readouterr().out) == measure_vectors()


@pytest.mark.filterwarnings("ignore:.*relevant")
def test_every_value_is_ours():
    for case in CASES:
        arguments = case["relevance"], case["scores"], case["qid"]
        rules = {"ties": case["ties"], "empty": case["empty"]}
        measured = evaluate(*arguments, measures=case["measure"], **rules)
        assert measured[case["measure"]] == pytest.approx(case["value"], abs=1e-12), case


def test_the_readers_of_the_page_find_a_wrong_measure(tmp_path):
    page = Path(__file__).parents[2].joinpath("docs/vectors.md").read_text()
    reader = page.split("```python\n")[1].split("```")[0]
    (tmp_path / "vectors.json").write_text(json.dumps(CASES))
    (tmp_path / "check.py").write_text(reader)
    command = [sys.executable, "-W", "error", "check.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "8 checked, 0 differ" in done.stdout
    wrong = reader.replace("/ 3", "/ 4")
    assert wrong != reader
    (tmp_path / "check.py").write_text(wrong)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "0 differ" not in done.stdout

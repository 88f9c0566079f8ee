"""`directrank consistency`: what it prints, and how it fails."""

import json

import pytest

from directrank.apps.cli import main
from directrank.apps.cli.commands.consistency import EXAMPLES
from directrank.diagnostics.consistency import check
from directrank.measures import parse_measure
from directrank.surrogates import Pairwise

HUBER = ("--set", "margin=huber", "--set", "width=0.5")


def run(capsys, *arguments):
    code = main(["consistency", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def one_line(capsys, code, *arguments):
    ended, out, err = run(capsys, *arguments)
    assert (ended, out, len(err.splitlines())) == (code, "", 1), (out, err)
    return err


@pytest.mark.parametrize(
    ("name", "method", "value", "best"),
    [("graded", "preorder", 2.6928, 3.5047), ("binary-norm", "preorder-norm-dcg", 1.0720, 1.1220)],
)
def test_the_examples_refute_what_they_say(capsys, name, method, value, best):
    code, out, _ = run(capsys, method, "DCG", "--example", name, *HUBER)
    assert code == 0
    assert f"expected DCG {value:.4f}" in out
    assert f"expected DCG {best:.4f}" in out
    assert f"regret {best - value:.3f}"[:-1] in out
    assert "not consistent with DCG" in out
    code, out, _ = run(capsys, "consistent-dcg", "DCG", "--example", name)
    assert code == 0
    assert "does not refute" in out


def test_orders_are_printed_from_the_first(capsys):
    out = run(capsys, "preorder", "DCG", "--example", "graded")[1]
    assert "its order   2 > 1 > 3:" in out
    assert "best order  1 > 2 > 3:" in out
    assert "2 = 3 > 1 > 4" in run(capsys, "consistent-dcg", "DCG", "--example", "binary-norm")[1]


def test_json_has_everything(capsys):
    code, out, _ = run(
        capsys,
        "preorder",
        "DCG",
        "--example",
        "graded",
        "--set",
        "margin=huber",
        "--set",
        "width=0.5",
        "--json",
    )
    found = json.loads(out)
    verdict = check(Pairwise(), parse_measure("DCG"), EXAMPLES["graded"][1])
    assert code == 0
    assert found["surrogate"] == "Pairwise(huber)"
    assert found["outcomes"][0] == {"probability": 0.2, "relevance": [4, 0, 0]}
    assert found["ranking"] == [2, 1, 3]
    assert found["best_ranking"] == [1, 2, 3]
    assert found["scores"] == verdict.scores.tolist()
    assert found["regret"] == verdict.regret > 0.8
    assert found["supervision"] == pytest.approx([3.0, 0.8, 0.0])
    assert not found["consistent"]


def test_a_file(capsys, tmp_path):
    path = tmp_path / "some.json"
    path.write_text(
        '[{"probability": 0.2, "relevance": [4, 0, 0]}, {"relevance": [0, 1, 0], "probability": 0.8}]'
    )
    from_file = run(capsys, "preorder", "DCG", path, *HUBER)
    assert from_file == run(capsys, "preorder", "DCG", "--example", "graded", *HUBER)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ('[{"probability": 1}]', "outcome 1: expected [{"),
        ('[{"probability": 0.5, "relevance": [1, 0]}]', "probabilities add up to 0.5"),
    ],
)
def test_unusable_files(capsys, tmp_path, text, words):
    path = tmp_path / "some.json"
    path.write_text(text)
    line = one_line(capsys, 3, "preorder", "DCG", path)
    assert words in line
    assert str(path) in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a method and a measure"),
        (("preorder", "DCG", "--example", "gradde"), "there are graded, binary"),
        (("preordr", "DCG", "--random", "1"), "did you mean preorder"),
        (("lambdarank", "nDCG", "--random", "1"), "no minimiser of its own"),
        (("svmmap", "AP", "--random", "1"), "has corners"),
    ],
)
def test_refusals(capsys, arguments, words):
    assert words in one_line(capsys, 2, *arguments)


def test_random_distributions(capsys):
    code, out, _ = run(capsys, "consistent-dcg", "DCG", "--random", "30", "--seed", "1")
    assert (code, out) == (0, "OrderPreserving(DCG), DCG: 0 of 30 random distributions refute consistency\n")
    code, out, _ = run(capsys, "preorder", "DCG", "--random", "30", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["distributions"] == 30
    assert found["refuting"] > 0
    assert found["worst"]["regret"] > 0
    outcomes = [(each["probability"], each["relevance"]) for each in found["worst"]["outcomes"]]
    verdict = check(Pairwise(margin="squared_hinge"), parse_measure("DCG"), outcomes)
    assert verdict.regret == pytest.approx(found["worst"]["regret"])

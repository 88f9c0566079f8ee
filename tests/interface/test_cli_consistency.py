"""`directrank consistency`: what it prints, and how it fails."""

import json

import pytest

from directrank.apps.cli import main
from directrank.diagnostics.consistency import EXAMPLES, check, random_distribution
from directrank.measures import parse_measure
from directrank.surrogates import OrderPreserving, Pairwise, PairwiseHinge, SwapWeighted, gain_difference

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
    [
        ("graded", "preorder", 2.6928, 3.5047),
        ("graded", "preorder-norm", 2.6928, 3.5047),
        ("binary", "preorder", 1.4239, 1.4693),
        ("binary-norm", "preorder-norm", 1.0720, 1.1220),
        ("binary-norm", "preorder-norm-dcg", 1.0720, 1.1220),
        ("graded-norm", "preorder-norm-dcg", 9.2974, 9.5037),
    ],
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


def test_theorem_3(capsys):
    """E[ERR] 41/96 and 43/96, E[AP] 17/24 and 16/24: no order-preserving loss can tell, all scores tie."""
    for measure, best in (("ERR(max=1)", 43 / 96), ("AP", 17 / 24)):
        _, out, _ = run(capsys, "consistent-dcg", measure, "--example", "theorem-3")
        assert "its order   1 = 2 = 3 = 4:" in out
        assert f"expected {measure} {best:.4f}" in out
        assert "not consistent" in out


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
        ("{}", "expected [{"),
        ("[]", "expected [{"),
        ('[{"probability": 1}]', "outcome 1: expected [{"),
        ('[{"probability": 1, "relevance": [1, "a"]}]', "outcome 1: probability and relevance are numbers"),
        ('[{"probability": true, "relevance": [1, 0]}]', "outcome 1: probability and relevance are numbers"),
        ('[{"probability": 0.5, "relevance": [1, 0]}]', "probabilities add up to 0.5"),
        ('[{"probability": 1, "relevance": [1]}]', "2 to 8 documents"),
        ('[{"probability": 1, "relevance": [-1, 0]}]', "relevance"),
        ('[{"probability": 1, "relevance": [1, 1]}]', "nothing to train on"),
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
        (("preorder", "DCG"), "give one distribution"),
        (("preorder", "DCG", "--example", "graded", "--random", "3"), "give one distribution"),
        (("preorder", "DCG", "--example", "gradde"), "there are graded, binary"),
        (("preorder", "DCG", "--random", "0"), "expected 1 or more"),
        (("preordr", "DCG", "--random", "1"), "did you mean preorder"),
        (("preorder", "DCGG", "--random", "1"), "Did you mean DCG"),
        (("consistent-ndcg(AP)", "AP", "--random", "1"), "Theorem 3"),
        (("lambdarank", "nDCG", "--random", "1"), "no minimiser of its own"),
        (("svmmap", "AP", "--random", "1"), "has corners"),
        (("adarank", "AP", "--random", "1"), "offers no ValueAndGradient"),
        (("all", "AP", "--random", "1"), "checks one method"),
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


def test_examples_are_listed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(capsys, "--example", "list")
    assert code == 0
    assert len(out.splitlines()) == 1 + len(EXAMPLES)
    assert "(4, 0, 0) 0.2; (0, 1, 0) 0.8" in out
    _, out, _ = run(capsys, "--example", "list", "--json")
    assert json.loads(out)["graded"]["outcomes"] == [[0.2, [4, 0, 0]], [0.8, [0, 1, 0]]]


def test_random_distributions_can_teach():
    import numpy as np

    rng = np.random.default_rng(0)
    for _ in range(200):
        outcomes = random_distribution(rng)
        assert sum(p for p, _ in outcomes) == pytest.approx(1.0)
        assert all(len(set(y)) > 1 and min(y) >= 0 for _, y in outcomes)


def test_what_has_no_minimiser_is_refused():
    for surrogate, words in (
        (PairwiseHinge(), "corners"),
        (SwapWeighted(parse_measure("nDCG")), "follow the ranking"),
    ):
        with pytest.raises(TypeError, match=words):
            check(surrogate, parse_measure("DCG"), EXAMPLES["graded"][1])
    norm = Pairwise(normalise=True, weight=gain_difference)
    assert check(norm, parse_measure("DCG"), EXAMPLES["graded-norm"][1]).ranking == (1, 0, 2)
    assert check(
        OrderPreserving(parse_measure("DCG")), parse_measure("DCG"), EXAMPLES["graded-norm"][1]
    ).consistent

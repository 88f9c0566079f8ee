"""`directrank consistency`: what it prints, and how it fails."""

import pytest

from directrank.apps.cli import main

HUBER = ("--set", "margin=huber", "--set", "width=0.5")


def run(capsys, *arguments):
    code = main(["consistency", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


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


def test_a_file(capsys, tmp_path):
    path = tmp_path / "some.json"
    path.write_text(
        '[{"probability": 0.2, "relevance": [4, 0, 0]}, {"relevance": [0, 1, 0], "probability": 0.8}]'
    )
    from_file = run(capsys, "preorder", "DCG", path, *HUBER)
    assert from_file == run(capsys, "preorder", "DCG", "--example", "graded", *HUBER)

"""`directrank explain`, `importance` and `select`: tables, JSON, documents by name or row, and refusals."""

import json

import pytest

from commands import run


def test_a_fusion_is_explained_by_its_runs(tmp_path, monkeypatch, capsys):
    """RRF: 1 / 61 less 1 / 62 in one run, 1 / 62 less 0 in the other, each with half of the weight."""
    monkeypatch.chdir(tmp_path)
    for name, order in (("words", "abc"), ("vectors", "dab")):
        lines = [f"q Q0 {docid} {rank} {9 - rank} x" for rank, docid in enumerate(order, 1)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    assert run(capsys, "fuse", "words.run", "vectors.run", "-o", "f.dr")[0] == 0
    words = ("explain", "f.dr", "words.run", "vectors.run", "--query", "q")
    found = json.loads(run(capsys, *words, "--docs", "a,c", "--json")[1])
    adds = {each["feature"]: (each["value"], each["other"], each["adds"]) for each in found["contributions"]}
    assert adds["words.run"] == (8.0, 6.0, pytest.approx((1 / 61 - 1 / 63) / 2))
    assert adds["vectors.run"] == (7.0, None, pytest.approx(1 / 62 / 2))
    assert found["documents"][0]["score"] - found["documents"][1]["score"] == pytest.approx(
        found["difference"]
    )
    assert "missing" in run(capsys, *words, "--docs", "a,c")[1]
    code, _, err = run(capsys, *words, "--docs", "a,z")
    assert code == 2
    assert "no document 'z'" in err
    assert run(capsys, "explain", "f.dr", "words.run", "vectors.run", "--query", "p")[0] == 3
    code, _, err = run(capsys, *words, "--training")
    assert (code, "no training documents" in err) == (2, True)

"""`directrank explain`, `importance` and `select`: tables, JSON, documents by name or row, and refusals."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import run
from directrank import RankSVM, load_data, make_ranking, save


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A model; documents in CSV with names of documents and features, and without any relevance."""
    monkeypatch.chdir(tmp_path)
    made = make_ranking(12, 8, 3, random_state=0)
    frame = pd.DataFrame(made.X, columns=["title", "body", "age"])
    frame.insert(0, "qid", made.qid)
    frame.insert(1, "relevance", made.relevance)
    frame.insert(2, "docid", [f"d{row}" for row in range(len(frame))])
    frame.loc[1, "age"] = np.nan
    frame.to_csv("judged.csv", index=False)
    frame.drop(columns=["relevance", "docid"]).to_csv("plain.csv", index=False)
    groups = load_data("judged.csv")
    ranker = RankSVM(scaling="standard").fit(groups)
    save(ranker, "model.dr")
    return ranker, groups, str(groups.queries.qid[0])


def test_explain_prints_contributions_that_add_up(files, capsys):
    ranker, groups, qid = files
    scores = ranker.predict(groups)
    code, out, _ = run(capsys, "explain", "model.dr", "judged.csv", "--query", qid, "--docs", "d1,d0")
    assert code == 0
    lines = out.splitlines()
    in_query = scores[groups.qid == groups.qid[0]]
    for line, row in zip(lines[:2], (1, 0), strict=True):
        rank = 1 + (in_query > scores[row]).sum()
        assert (
            line
            == f"document d{row}: rank {rank}, score {scores[row]:.6g}, relevance {groups.relevance[row]:g}"
        )
    assert lines[3].split() == ["query", qid, "d1", "d0", "adds"]
    table = {line.split()[0]: line.split()[1:] for line in lines[4:]}
    assert table["age"][0] == "missing"
    assert table["title"][:2] == [f"{groups.X[row, 0]:.6g}" for row in (1, 0)]
    adds = [float(table[name][2]) for name in ("title", "body", "age")]
    assert sum(adds) == pytest.approx(scores[1] - scores[0], abs=1e-4)
    assert table["sum"][-1] == f"{scores[1] - scores[0]:+.6g}"
    sizes = [abs(float(line.split()[-1])) for line in lines[4:-1]]
    assert sizes == sorted(sizes, reverse=True)


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

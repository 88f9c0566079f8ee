"""`directrank explain`, `importance` and `select`: tables, JSON, documents by name or row, and refusals."""

import json

import numpy as np
import pandas as pd
import pytest

from directrank import RankSVM, TreeRanker, load_data, make_ranking, save, write_letor
from directrank.apps.cli import main


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(each) for each in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


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


def test_explain_prints_json_of_the_first_two_or_of_one(files, capsys):
    ranker, groups, qid = files
    rows = np.flatnonzero(groups.qid == groups.qid[0])
    scores = ranker.predict(groups)
    first, second = rows[np.argsort(-scores[rows], kind="stable")[:2]]
    code, out, err = run(capsys, "explain", "model.dr", "judged.csv", "--query", qid, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert [each["document"] for each in found["documents"]] == [f"d{first}", f"d{second}"]
    assert [each["rank"] for each in found["documents"]] == [1, 2]
    assert found["difference"] == pytest.approx(scores[first] - scores[second], abs=1e-9)
    assert sum(each["adds"] for each in found["contributions"]) == pytest.approx(
        found["difference"], abs=1e-9
    )

    found = json.loads(
        run(capsys, "explain", "model.dr", "judged.csv", "--query", qid, "--docs", "d1", "--json")[1]
    )
    assert found["compared_with"] == "mean of the query"
    assert found["difference"] == pytest.approx(scores[1] - scores[rows].mean(), abs=1e-9)
    assert sum(each["adds"] for each in found["contributions"]) == pytest.approx(
        found["difference"], abs=1e-9
    )
    age = next(each for each in found["contributions"] if each["feature"] == "age")
    assert age["value"] is None
    assert age["other"] == pytest.approx(np.nanmean(groups.X[rows, 2]))


def test_documents_without_names_and_relevance_are_rows(files, capsys):
    _, groups, _ = files
    last = str(groups.queries.qid[-1])
    code, out, _ = run(
        capsys, "explain", "model.dr", "plain.csv", "--query", last, "--docs", f"{groups.n_docs}"
    )
    assert code == 0
    assert out.startswith(f"document {groups.n_docs}: rank ")
    assert "relevance" not in out


def test_explain_says_what_is_wrong(files, capsys):
    words = ("explain", "model.dr", "judged.csv", "--query")
    *_, qid = files
    assert "no such query; its first are" in run(capsys, *words, "nothing")[2].splitlines()[-1]
    for docs, message in (("d0,d999", "no document 'd999'"), ("d0,d1,d2", "expected one document or two")):
        code, out, err = run(capsys, *words, qid, "--docs", docs)
        assert (code, out) == (2, "")
        assert message in err.splitlines()[-1]
        assert f"--docs {docs}" in err.splitlines()[-1]


def test_importance_prints_a_table_and_json(files, capsys):
    code, out, _ = run(capsys, "importance", "model.dr", "judged.csv", "--measure", "AP", "--repeats", "3")
    assert code == 0
    head, columns, *lines = out.splitlines()
    assert head.startswith("AP ")
    assert columns.split()[:2] == ["feature", "loss"]
    assert {line.split()[0] for line in lines} <= {"title", "body", "age"}
    found = json.loads(
        run(capsys, "importance", "model.dr", "judged.csv", "--measure", "AP", "--repeats", "3", "--json")[1]
    )
    assert found["measure"] == "AP"
    losses = [row["loss"] for row in found["features"]]
    assert losses == sorted(losses, reverse=True)
    assert lines[0].split()[1] == f"{losses[0]:+.4f}"


def test_importance_says_what_is_wrong(files, capsys):
    words = ("importance", "model.dr", "judged.csv")
    for option in (("--repeats", "0"), ("--measure", "nDGC")):
        code, out, err = run(capsys, *words, *option)
        assert (code, out) == (2, "")
        assert " ".join(option) in err


def test_select_prints_the_path_and_the_features_that_are_kept(files, capsys):
    words = ("select", "ranksvm", "judged.csv", "--valid", "judged.csv")
    for option, problem in (("--share", "1"), ("--measure", "nDGC")):
        code, out, err = run(capsys, *words, option, problem)
        assert (code, out) == (2, "")
        assert f"{option} {problem}" in err
    # Two features are noise; without one of the others nDCG@10 falls significantly.
    write_letor(make_ranking(60, 12, 4, n_useless=2, noise=0.1, random_state=0), "noisy.txt")
    words = ("select", "ranksvm", "noisy.txt", "--valid", "noisy.txt")
    code, out, _ = run(capsys, *words, "-q")
    assert code == 0
    head, first, *_, kept, cost = out.splitlines()
    assert head.split()[:3] == ["features", "nDCG@10", "loss"]
    assert first.split()[0] == "4"
    found = json.loads(run(capsys, *words, "--json")[1])
    assert found["path"][0]["features"] == ["f1", "f2", "f3", "f4"]
    assert [len(each["features"]) for each in found["path"]] == [4, 3, 2, 1]
    assert [each["p"] < 0.05 for each in found["path"]] == [False, False, False, True]
    assert found["features"] == ["f1", "f2"]
    assert kept == "2 features kept: f1,f2"
    assert cost == (
        "a document costs 4 features, 0 nodes of trees; with those kept 2 features, 0 nodes of trees"
    )


def test_explain_compares_with_the_mean_of_training(files, capsys):
    _, groups, qid = files
    trees = TreeRanker().fit(groups)
    save(trees, "trees.dr")
    common = ["explain", "trees.dr", "judged.csv", "--query", qid, "--training"]
    of_each = trees.explain(groups, rows=[1, 0], against="training")
    for docs, added, other in (
        ("d1,d0", of_each[0] - of_each[1], "d0"),
        ("d1", of_each[0], "mean of training"),
    ):
        code, out, _ = run(capsys, *common, "--docs", docs, "--json")
        found = json.loads(out)
        assert (code, found["compared_with"]) == (0, other)
        assert {each["feature"]: each["adds"] for each in found["contributions"]} == pytest.approx(
            dict(zip(("title", "body", "age"), added, strict=True))
        )
        assert found["difference"] == pytest.approx(added.sum())
    code, out, _ = run(capsys, *common, "--docs", "d1")
    assert "–" in out.splitlines()[3]
    code, _, err = run(capsys, "explain", "model.dr", *common[2:])
    assert code == 3
    assert "no counts of training documents" in err.splitlines()[-1]


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

"""From texts to a search on the command line: index, features, fit, search."""

import json

import numpy as np
import pandas as pd
import pytest

from directrank.apps.cli import main
from directrank.apps.text import bm25_run
from text_examples import texts, write_queries, write_smart


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """A folder in which index, features and a model have been made by commands."""
    folder = tmp_path_factory.mktemp("steps")
    queries, qrels = write_queries(folder)
    collection = write_smart(folder, texts())
    assert main(["index", str(collection), "-o", str(folder / "index"), "-q"]) == 0
    made = [
        "features",
        str(folder / "index"),
        "--queries",
        str(queries),
        "--qrels",
        str(qrels),
        "--kfold",
        "3",
    ]
    assert main([*made, "--features", "xu2008,title.tf", "-o", str(folder / "features"), "-q"]) == 0
    fitted = [
        "fit",
        "regression",
        str(folder / "features" / "all.parquet"),
        "-o",
        str(folder / "model.dr"),
        "-q",
    ]
    assert main(fitted) == 0
    return folder


def test_a_search_embeds_the_query(steps, tmp_path, monkeypatch, capsys):
    vectors = np.random.default_rng(0).normal(size=(len(texts()), 3))
    pd.DataFrame({"docid": list(texts()), "vector": list(vectors)}).to_parquet(tmp_path / "d.parquet")
    own = pd.DataFrame({"qid": ["q1", "q2", "q3"], "vector": [[1.0, 0.0, 2.0]] * 3})
    own.to_parquet(tmp_path / "q.parquet")
    (tmp_path / "my_model.py").write_text("def encode(texts):\n    return [[1.0, 0.0, 2.0] for _ in texts]\n")
    monkeypatch.chdir(tmp_path)
    files = [str(steps / "index"), "--queries", str(steps / "queries.csv"), "--qrels", str(steps / "qrels")]
    dense = ["--embeddings", "dense=d.parquet,q.parquet", "--features", "whole.bm25"]
    assert main(["features", *files, *dense, "-o", "made", "-q"]) == 0
    assert main(["fit", "regression", "made/all.parquet", "-o", "m.dr", "-q"]) == 0
    capsys.readouterr()
    words = ["search", str(steps / "index"), "m.dr", "heat flow"]
    assert main([*words, "--embed", "dense=d.parquet,my_model:encode", "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert all(set(hit["contributions"]) == {"whole.bm25", "dense"} for hit in hits)
    assert main(words) == 3
    assert "--embed NAME=DOCUMENTS,MODULE:FUNCTION" in capsys.readouterr().err
    assert main([*words, "--embed", "dense=d.parquet,my_model:other"]) == 2
    assert "--embed my_model:other: module 'my_model' has no attribute 'other'" in capsys.readouterr().err
    assert main([*words, "--embed", "dense=d.parquet"]) == 2
    assert "embeddings dense: expected vectors of documents, vectors of queries" in capsys.readouterr().err


def test_a_run_of_bm25_begins_a_fusion(steps, tmp_path, capsys):
    index, queries = str(steps / "index"), str(steps / "queries.csv")
    first, second = tmp_path / "bm25.run", tmp_path / "bm25.csv"
    assert main(["search", index, "--run", str(first), "--queries", queries, "--depth", "3"]) == 0
    assert "Written: " in capsys.readouterr().err
    lines = [line.split() for line in first.read_text().splitlines()]
    best = bm25_run(index, queries).groups
    expected = {(str(q), d): s for q, d, s in zip(best.qid, best.docid, best.X[:, 0].tolist(), strict=True)}
    assert {line[5] for line in lines} == {"bm25"}
    for qid in {line[0] for line in lines}:
        ours = [(line[2], float(line[4])) for line in lines if line[0] == qid]
        scores = sorted((score for (q, _), score in expected.items() if q == qid), reverse=True)
        assert [score for _, score in ours] == pytest.approx(scores[:3])
        assert all(score == pytest.approx(expected[qid, docid]) for docid, score in ours)
    assert main(["search", index, "--run", str(second), "--queries", queries, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == str(second)
    assert main(["fuse", str(first), str(second), "--run-out", str(tmp_path / "fused.run")]) == 0
    capsys.readouterr()
    for wrong, problem in (
        (["--run", str(first)], "--run and --queries: give both, or neither"),
        (
            [str(steps), "--run", str(first), "--queries", queries],
            "`directrank rank MODEL DATA --format trec`",
        ),
        ([], "Missing argument 'MODEL'"),
    ):
        assert main(["search", index, *wrong]) == 2
        assert problem in capsys.readouterr().err

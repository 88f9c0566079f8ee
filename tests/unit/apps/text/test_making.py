"""From queries and judgements to features and folds."""

import json

import numpy as np
import pytest

from directrank import find_folds, load_data
from directrank.apps.text import build_index, make_features, open_index, write_features
from directrank.apps.text.features.candidates import bm25_top
from directrank.errors import DataError
from text_examples import QUERIES, naive_features, texts, write_queries, write_smart


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    build_index(write_smart(folder, texts()), folder / "index")
    return folder, open_index(folder / "index"), *write_queries(folder)


def test_rows_are_the_candidates_with_their_grades(steps):
    _, index, queries, qrels = steps
    made = make_features(
        index, queries, qrels, features=["whole.bm25", "title.tf"], candidates="bm25:1000+judged"
    )
    groups = made.groups
    assert groups.feature_names == ("whole.bm25", "title.tf")
    for qid, text in QUERIES.items():
        rows = groups.qid == qid
        features = naive_features(texts(), "whole", text, index.analysis)
        expected = {name: each["bm25"] for name, each in features.items()}
        judged = {f"d{number}": number % 3 for number in range(5, 40)}
        names = [name for name in texts() if expected[name] > 0 or name in judged]
        assert groups.docid[rows].tolist() == names
        assert groups.relevance[rows].tolist() == [judged.get(name, 0) for name in names]
        np.testing.assert_allclose(
            groups.X[rows, 0], [expected[name] for name in names], rtol=1e-6, atol=1e-6
        )
    assert made.relevant == dict.fromkeys(QUERIES, [2.0] * 12 + [1.0] * 11)
    assert "they hold 69 of 69 relevant documents (1.00)" in made.lines[-1]


@pytest.fixture
def runs(steps, tmp_path):
    """Two runs with ties, one of a document that the index lacks, as mappings and as files."""
    rng = np.random.default_rng(4)
    found = {}
    for name in ("one", "two"):
        found[name] = {
            qid: {f"d{number}": float(rng.integers(0, 9)) for number in rng.permutation(40)[:20]}
            for qid in QUERIES
        }
        lines = [f"{qid} Q0 {d} 1 {s} x\n" for qid, own in found[name].items() for d, s in own.items()]
        (tmp_path / name).write_text("".join([*lines, "q1 Q0 gone 1 -1 x\n"]))
    return found, tmp_path


def firsts(run, depth):
    """The first documents of a query, equal scores in the order of the collection."""
    names = sorted(run, key=lambda name: (-run[name], int(name[1:])))
    return {name: run[name] for name in names[:depth]}


def test_candidates_are_the_union_of_rankings(steps, runs):
    _, index, queries, qrels = steps
    found, folder = runs
    rule = f"run:{folder / 'one'}:7,run:{folder / 'two'}:5,bm25:3"
    made = make_features(index, queries, qrels, features=["whole.bm25"], candidates=rule)
    for qid, text in QUERIES.items():
        best = {index.ids[row] for row in bm25_top(index, index.terms(text), 3)[0]}
        expected = {*firsts(found["one"][qid], 7), *firsts(found["two"][qid], 5), *best}
        assert set(made.groups.docid[made.groups.qid == qid].tolist()) == expected
    assert any(line.endswith("one are not in the index: gone") for line in made.lines)
    (folder / "none").write_text("other Q0 d1 1 1 x\n")
    with pytest.raises(DataError, match="none: has no document of a query"):
        make_features(index, queries, qrels, candidates=f"run:{folder / 'none'}:5")


def test_rules_of_fusion_are_features(steps, runs):
    _, index, queries, qrels = steps
    found, folder = runs
    names = ["rrf", "combsum", "combmnz"]
    made = make_features(
        index, queries, qrels, features=["whole.bm25", *names],
        candidates=f"run:{folder / 'one'}:7,run:{folder / 'two'}:5",
    )  # fmt: skip
    assert made.groups.feature_names == ("whole.bm25", *names)
    shortened = [
        {qid: firsts(found[name][qid], depth) for qid in QUERIES} for name, depth in (("one", 7), ("two", 5))
    ]
    for qid, docid, (rrf, combsum, combmnz) in zip(
        made.groups.qid, made.groups.docid, made.groups.X[:, 1:], strict=True
    ):
        of_query = [run[str(qid)] for run in shortened]
        shares, ranks = [], []
        for scores in of_query:
            low, high = min(scores.values()), max(scores.values())
            shares.append((scores[docid] - low) / (high - low) if docid in scores else 0.0)
            if docid in scores:
                # The mean of 1 / (60 + rank) over the ranks of documents that tie.
                above = sum(each > scores[docid] for each in scores.values())
                tied = sum(each == scores[docid] for each in scores.values())
                ranks.append(np.mean([1 / (60 + above + place) for place in range(1, tied + 1)]))
        assert rrf == pytest.approx(sum(ranks), rel=1e-6)
        assert combsum == pytest.approx(sum(shares), rel=1e-5, abs=1e-7)
        assert combmnz == pytest.approx(sum(shares) * len(ranks), rel=1e-5, abs=1e-7)
    with pytest.raises(ValueError, match="rrf needs two rankings or more"):
        make_features(index, queries, qrels, features="rrf")


@pytest.mark.parametrize(("form", "ending"), [("parquet", ".parquet"), ("csv", ".csv"), ("letor", ".txt")])
def test_folds_read_back(steps, tmp_path, form, ending):
    _, index, queries, qrels = steps
    made = make_features(index, queries, qrels, features="xu2008")
    write_features(made, tmp_path / "out", kfold=3, form=form)
    whole = load_data(tmp_path / "out" / f"all{ending}")
    np.testing.assert_array_equal(whole.X, made.groups.X)
    np.testing.assert_array_equal(whole.relevance, made.groups.relevance)
    assert whole.feature_names == (None if form == "letor" else made.groups.feature_names)
    tested = []
    for fold in find_folds(tmp_path / "out"):
        parts = fold.load()
        assert sorted(map(str, np.concatenate([part.queries.qid for part in parts]))) == sorted(QUERIES)
        tested += parts[2].queries.qid.tolist()
    assert sorted(map(str, tested)) == sorted(QUERIES)
    recipe = json.loads((tmp_path / "out" / "features.json").read_text())
    assert recipe["features"] == list(made.groups.feature_names)
    assert recipe["relevant"] == made.relevant

"""Runs and score files in the results of a comparison."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from directrank import evaluate, evaluate_runs, make_ranking, write_letor
from directrank.apps.evaluation.significance import holm
from directrank.files.scores import trec_text


@pytest.fixture
def groups(tmp_path):
    groups = make_ranking(12, 6, 3, random_state=2)
    write_letor(groups, tmp_path / "data.txt")
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        scores = rng.normal(size=groups.n_docs)
        (tmp_path / f"{name}.trec").write_text(trec_text(groups, scores, name))
        (tmp_path / f"{name}.txt").write_text("".join(f"{each!r}\n" for each in scores.tolist()))
    lines = [
        f"{q} 0 {row} {y:g}\n" for row, (q, y) in enumerate(zip(groups.qid, groups.relevance, strict=True), 1)
    ]
    (tmp_path / "qrels").write_text("".join(lines))
    return groups


def values(result, label):
    return result.cell(label, "all queries")["per_query"]["standard"]


def test_runs_scores_and_qrels_agree(groups, tmp_path):
    mixed = evaluate_runs(
        tmp_path / "data.txt", [tmp_path / "a.txt", tmp_path / "a.trec", tmp_path / "b.trec"]
    )
    judged = evaluate_runs(tmp_path / "qrels", [tmp_path / "a.trec", tmp_path / "b.trec"])
    scores = np.loadtxt(tmp_path / "a.txt")
    in_memory = evaluate_runs(groups, {"mine": scores})
    expected = evaluate(groups, scores, measures=mixed.measures, per_query=True)
    for result, label in ((mixed, "a.txt"), (mixed, "a.trec"), (judged, "a.trec"), (in_memory, "mine")):
        for measure in mixed.measures:
            assert values(result, label)[measure] == expected.per_query[measure].tolist()
    assert values(mixed, "b.trec") == values(judged, "b.trec")


def test_a_family_of_all_measures_is_one_correction(groups):
    rng = np.random.default_rng(2)
    runs = {f"run{place}": rng.normal(size=groups.n_docs) for place in range(3)}
    asked = ["AP", "P@1", "nDCG@10"]
    of_measure, of_all = (
        evaluate_runs(groups, runs, measures=asked, baseline="run0", family=family).content.significance[
            "standard"
        ]
        for family in ("measure", "all")
    )
    p = [pair.p_randomisation for pairs in of_all.pairs.values() for pair in pairs]
    assert p == [pair.p_randomisation for pairs in of_measure.pairs.values() for pair in pairs]
    assert [pair.p_holm for pairs in of_all.pairs.values() for pair in pairs] == pytest.approx(
        holm(np.array(p))
    )
    for name, pairs in of_measure.pairs.items():
        own = [pair.p_randomisation for pair in pairs]
        assert [pair.p_holm for pair in pairs] == pytest.approx(holm(np.array(own)))
        assert min(pair.level for pair in of_all.pairs[name]) >= min(pair.level for pair in pairs)
    assert "within each of the 3 measures" in of_measure.within()
    assert "--family all" in of_measure.within()
    assert of_all.within() == ""
    with pytest.raises(ValueError, match="no family is called 'both'"):
        evaluate_runs(groups, runs, measures=asked, family="both")


class TestMappingsAndFrames:
    QRELS: ClassVar = {"1": {"a": 1, "b": 0, "c": -1}, "2": {"a": 0, "b": 2}}
    RUN: ClassVar = {"1": {"a": 0.5, "b": 0.7}, "2": {"b": 1, "z": 0.5}}

    def frame(self, mapping, value):
        rows = [(q, d, v) for q, docs in mapping.items() for d, v in docs.items()]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", value])

    def test_they_count_as_files_do(self, tmp_path):
        lines = [(q, d, v) for q, docs in self.QRELS.items() for d, v in docs.items()]
        (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {v}\n" for q, d, v in lines))
        lines = [(q, d, v) for q, docs in self.RUN.items() for d, v in docs.items()]
        (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {v} t\n" for q, d, v in lines))
        expected = evaluate_runs(tmp_path / "qrels", tmp_path / "run").cells[0]["values"]
        grades = {q: {d: max(v, 0) for d, v in docs.items()} for q, docs in self.QRELS.items()}
        for data in (self.QRELS, self.frame(grades, "relevance")):
            for run in (self.RUN, self.frame(self.RUN, "score")):
                for runs, label in ((run, "run"), ([run], "run 1"), ({"mine": run}, "mine")):
                    (cell,) = evaluate_runs(data, runs).cells
                    assert (cell["method"], cell["values"]) == (label, expected)

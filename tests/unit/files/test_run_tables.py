"""Tables of scores, as `rank` writes them, hold what the TREC run of the same scores holds."""

import numpy as np
import pytest

from directrank import evaluate_runs, make_ranking
from directrank.errors import DataError
from directrank.files.scores import FORMATS

GROUPS = make_ranking(n_queries=6, docs_per_query=5, n_features=2, random_state=3)
SCORES = np.random.default_rng(4).normal(size=GROUPS.n_docs)


def written(name, tmp_path):
    (form,) = (each for each in FORMATS if each.name == name)
    path, content = tmp_path / f"scores{form.endings[0]}", form.content(GROUPS, SCORES, "tag")
    path.write_bytes(content if form.binary else content.encode())
    return path


@pytest.mark.parametrize("name", ["csv", "tsv", "parquet", "arrow"])
def test_a_table_counts_as_the_run_of_the_same_scores(name, tmp_path):
    run, table = written("trec", tmp_path), written(name, tmp_path)
    found = evaluate_runs(GROUPS, {"run": run, "table": table, "array": SCORES}, measures=["AP", "nDCG@3"])
    values = [cell["per_query"]["standard"] for cell in found.cells]
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "qid,docid\n1,a\n",
            r"scores\.csv: no column is called like a score; name it by --run-columns score=",
        ),
        (
            "qid,score\n1,2\n",
            r"scores\.csv: no column is called like a docid; name it by --run-columns docid=",
        ),
        ("docid,score\n1,2\n", r"scores\.csv: no column is called like a qid"),
        ("qid,docid,score\n", r"scores\.csv: holds no document"),
        ("qid,docid,score\n1,1,2\n1,2,x\n", r"column 'score', row 2: found 'x', expected a score"),
        ("qid,docid,score\n1,1,2\n1,2,\n", r"column 'score', row 2: found nan, expected a score"),
        ("qid,docid,score\n1,1,2\n1,2,3\n1,1,4\n", r"csv:4: document '1' of query '1' is listed twice.*2"),
        ("qid,docid,score\n77,1,2\n", r"csv: none of its queries is in .*'77'"),
    ],
)
def test_a_table_that_is_no_run_is_refused_with_its_place(text, message, tmp_path):
    (tmp_path / "scores.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        evaluate_runs(GROUPS, [tmp_path / "scores.csv"])

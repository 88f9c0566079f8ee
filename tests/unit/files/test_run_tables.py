"""Tables of scores, as `rank` writes them, hold what the TREC run of the same scores holds."""

import numpy as np
import pytest

from directrank import evaluate_runs, make_ranking
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

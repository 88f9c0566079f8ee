"""Folders of runs as rows: which file is whose, what must be in it, and what has no value."""

from pathlib import Path

import numpy as np
import pytest

from directrank import QueryGroups, compare, evaluate_runs, make_ranking
from directrank.apps.experiments.plan.run_files import RunFiles
from directrank.apps.experiments.store.records import CHOSEN
from directrank.files.scores import scores_text, trec_text

OPTIONS = {"measures": ("AP", "nDCG@3"), "audit": False, "kfold": 3}


@pytest.fixture(scope="module")
def data():
    made = make_ranking(24, 6, 4, random_state=1)
    names = [f"d{row}" for row in range(made.n_docs)]
    return QueryGroups(made.X, made.relevance, made.qid, docid=names)


@pytest.fixture(scope="module")
def parts(data):
    return [data.select(piece) for piece in np.array_split(np.arange(data.n_queries), 3)]


def column(groups, at=0):
    return groups.X[:, at].astype(float)


def written(folder, name, text):
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["fold.txt", "fold.run", "fold/test.txt", "fold/anything.run"])
def test_a_folder_of_runs_is_a_row(parts, tmp_path, name):
    test = parts[2]
    text = (trec_text if name.endswith(".run") else scores_text)(test, column(test), "tag")
    run = written(tmp_path / "runs", name, text)
    result = compare(parts, f"regression, runs:mine={tmp_path}/runs", measures=("AP", "nDCG@3"), audit=False)
    assert result.mean("mine", "AP", "standard") == evaluate_runs(test, run, measures=("AP",)).value(
        run.name, "all queries", "AP", "standard"
    )
    assert result.value("mine", "fold", "AP", "standard", "vali") is None
    assert result.cell("mine", "fold")["validation"] is None
    # It has no validation value, so one method is left to choose from.
    assert CHOSEN not in result.methods


def test_rankings_of_the_validation_set_are_chosen_from(parts, tmp_path):
    best = np.array([part.relevance for part in parts], dtype=object)
    written(tmp_path, "fold/test.txt", scores_text(parts[2], best[2], ""))
    written(tmp_path, "fold/vali.txt", scores_text(parts[1], best[1], ""))
    result = compare(parts, f"regression, runs:oracle={tmp_path}", measures=("AP",), audit=False)
    assert result.cell("oracle", "fold")["validation"] == 1.0
    assert result.cell(CHOSEN, "fold")["chosen"] == {"method": "oracle"}


def test_one_run_serves_all_folds_and_need_not_hold_every_document(data, tmp_path):
    lines = trec_text(data, column(data), "tag").splitlines()
    kept = [line for place, line in enumerate(lines) if place % 3]
    run = written(tmp_path, "all.run", "\n".join(kept) + "\n")
    result = compare(data, f"runs:cut={run}", **OPTIONS)
    direct = evaluate_runs(data, run, measures=("AP", "nDCG@3"))
    assert len(result.folds) == 3
    for measure in ("AP", "nDCG@3"):
        values = [
            value
            for fold in result.folds
            for value in result.cell("cut", fold)["per_query"]["standard"][measure]
        ]
        expected = direct.cell("all.run", "all queries")["per_query"]["standard"][measure]
        assert sorted(values) == pytest.approx(sorted(expected), abs=1e-12)


def test_a_changed_file_is_another_fit(parts, tmp_path):
    text = scores_text(parts[2], column(parts[2]), "")
    written(tmp_path, "runs/fold.txt", text)
    runs = RunFiles("mine", tmp_path / "runs", name="runs:mine")
    before = runs.facts("fold", {}, chooses=True)
    written(tmp_path, "runs/fold.txt", text.replace("\n", " \n", 1))
    assert runs.facts("fold", {}, chooses=True) != before

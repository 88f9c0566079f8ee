"""Folders of runs as rows: which file is whose, what must be in it, and what has no value."""

from pathlib import Path

import numpy as np
import pytest

from directrank import QueryGroups, compare, evaluate_runs, make_ranking, write_report
from directrank.apps.experiments import read_results
from directrank.apps.experiments.plan.run_files import RunFiles
from directrank.apps.experiments.store.records import CHOSEN
from directrank.errors import DataError
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


def test_results_with_a_run_are_written_read_and_shown(parts, tmp_path):
    written(tmp_path / "runs", "fold.run", trec_text(parts[2], column(parts[2]), "tag"))
    methods = f"regression, listnet, runs:mine={tmp_path}/runs"
    result = compare(parts, methods, out=tmp_path / "out", refit=True, measures=("AP",))
    assert CHOSEN in result.methods
    again = read_results(tmp_path / "out")
    assert again.to_csv("standard") == result.to_csv("standard")
    assert "mine,vali" not in result.to_csv("standard")
    write_report(again, tmp_path / "page.html")
    assert "Only tested here, as rankings made elsewhere: mine." in (tmp_path / "page.html").read_text(
        "utf-8"
    )


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
    runs = RunFiles("mine", tmp_path / "runs", "runs:mine")
    before = runs.facts("fold", {}, chooses=True)
    written(tmp_path, "runs/fold.txt", text.replace("\n", " \n", 1))
    assert runs.facts("fold", {}, chooses=True) != before


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "no ranking of fold; expected Fold1.txt"),
        (("fold.txt", "fold.run"), "fold.run and fold.txt are both rankings of fold"),
        (("fold/a.run", "fold/b.run"), "a.run and b.run are both rankings of fold"),
    ],
)
def test_a_folder_without_one_file_a_fold_is_refused_before_training(parts, tmp_path, names, message):
    (tmp_path / "runs").mkdir()
    for name in names:
        written(tmp_path / "runs", name, "1\n")
    with pytest.raises(DataError, match=message):
        compare(parts, f"regression, runs:mine={tmp_path}/runs")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + "0.5\n", "one score too many"),
        (lambda text: text.replace("\n", "\nnan\n", 1), "the score is NaN"),
        (lambda text: "".join("1.0\n" for _ in text.splitlines()), "gives every document of the test set"),
    ],
)
def test_a_file_that_does_not_fit_is_a_failed_cell(parts, tmp_path, change, message):
    written(tmp_path, "runs/fold.txt", change(scores_text(parts[2], column(parts[2]), "")))
    result = compare(parts, f"regression, runs:mine={tmp_path}/runs", measures=("AP",), audit=False)
    (cell,) = result.failed
    assert message in cell["error"]["message"]


def test_documents_that_the_other_rows_do_not_rank_are_refused(parts, tmp_path):
    lines = trec_text(parts[2], column(parts[2]), "tag").splitlines()
    foreign = " ".join([lines[0].split()[0], "Q0", "unknown", "1", "9.0", "tag"])
    written(tmp_path, "runs/fold.run", "\n".join([foreign, *lines]) + "\n")
    result = compare(parts, f"runs:mine={tmp_path}/runs", measures=("AP",))
    assert "1 of its documents are not in the set" in result.failed[0]["error"]["message"]

"""`trained_on`: whether documents are those of training, from any source, and by the command line."""

import numpy as np
import pytest

from commands import run
from directrank import (
    QueryGroups,
    Regression,
    convert_data,
    load,
    load_data,
    make_ranking,
    open_store,
    save,
    write_letor,
)

GROUPS = make_ranking(20, 6, 3, random_state=0)


@pytest.fixture(scope="module")
def ranker():
    return Regression().fit(GROUPS.X, GROUPS.relevance, qid=GROUPS.qid)


def test_the_training_documents_are_recognised_from_an_array_a_file_and_a_store(ranker, tmp_path):
    save(ranker, tmp_path / "model.dr")
    write_letor(GROUPS, tmp_path / "train.txt")
    convert_data(tmp_path / "train.txt", tmp_path / "train.store")
    loaded = load(tmp_path / "model.dr")
    for documents in (GROUPS, load_data(tmp_path / "train.txt"), open_store(tmp_path / "train.store")):
        assert loaded.trained_on(documents)


def other_grades(relevance):
    relevance[0] += 1
    return relevance


@pytest.mark.parametrize(
    "documents",
    [
        make_ranking(20, 6, 3, random_state=1),
        GROUPS.select(np.arange(19)),
        QueryGroups(GROUPS.X, other_grades(GROUPS.relevance.copy()), GROUPS.qid),
        QueryGroups(GROUPS.X + 1, GROUPS.relevance, GROUPS.qid),  # with the same grades
    ],
    ids=["others", "fewer", "grades", "features"],
)
def test_other_documents_are_not_recognised(ranker, documents):
    assert not ranker.trained_on(documents)


def test_a_model_without_a_digest_was_trained_on_nothing_known():
    ranker = Regression().fit(GROUPS)
    del ranker.training_digest_
    assert not ranker.trained_on(GROUPS)


def test_evaluate_says_that_a_file_is_that_of_training(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_letor(GROUPS, "train.txt")
    write_letor(make_ranking(20, 6, 3, random_state=1), "test.txt")
    run(capsys, "fit", "regression", "train.txt", "-o", "model.dr")
    *_, err = run(capsys, "evaluate", "train.txt", "--model", "model.dr")
    assert "note: model.dr was trained on train.txt: values are lower on new queries\n" in err
    *_, err = run(capsys, "evaluate", "test.txt", "--model", "model.dr")
    assert "trained on" not in err

"""Every method trains on features with missing values, predicts them, and comes back from a file."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from directrank import evaluate, load, save
from directrank.apps.auto import Ensemble
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators import ListNet, NDCGBoost, RankSVM, Regression
from directrank.estimators.presets.boosted import BoostedRanker
from directrank.estimators.presets.trees import TreeRanker
from directrank.models.container import read_container, write_container
from estimator_examples import every, quick, rows

NOTE = "missing values of 3 features by their training medians"


def collection(seed=0, share=0.3, n_queries=20):
    X, y, qid = rows(n_queries=n_queries, seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return QueryGroups(X, y, qid)


@every
def test_missing_values_are_learned_saved_and_loaded(estimator, tmp_path):
    train, other = collection(), collection(1)
    ranker = estimator.fit(train, eval_set=other)
    scores = ranker.predict(other)
    assert np.isfinite(scores).all()
    assert get_tags(ranker).input_tags.allow_nan
    has_trees = isinstance(ranker, (BoostedRanker, TreeRanker))
    assert any(NOTE in note for note in ranker.notes_) == (not has_trees)
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(other).tobytes() == scores.tobytes()
    alone = np.concatenate([ranker.predict(row[None]) for row in other.X[:20]])
    assert alone.tobytes() == scores[:20].tobytes()


@pytest.mark.share(3)
@every
def test_new_data_may_have_gaps_that_the_training_set_had_not(estimator):
    train, other = collection(share=0.0), collection(1)
    ranker = estimator.fit(train)
    assert not any("missing" in note for note in ranker.notes_)
    scores = ranker.predict(other)
    medians = np.median(train.X, axis=0).astype(np.float32)
    by_hand = np.where(np.isnan(other.X), medians, other.X)
    np.testing.assert_array_equal(scores, ranker.predict(by_hand))


@every
def test_arrays_and_frames_take_missing_values(estimator):
    pd = pytest.importorskip("pandas")
    train, other = collection(), collection(1)
    expected = estimator.fit(train.X, train.relevance, qid=train.qid).predict(other.X)
    frame, new = (pd.DataFrame(each.X, columns=list("abc")).astype("Float32") for each in (train, other))
    assert frame.isna().to_numpy().any()
    found = estimator.fit(frame, train.relevance, qid=train.qid).predict(new)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["auto", "none", "standard", "log", "query"])
@pytest.mark.parametrize("cls", [RankSVM, Regression])
def test_every_scaling_fills(cls, kind, tmp_path):
    train, other = collection(), collection(1)
    ranker = quick(cls, scaling=kind).fit(train)
    scores = ranker.predict(other)
    assert np.isfinite(scores).all()
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(other).tobytes() == scores.tobytes()
    assert evaluate(other, scores, measures=["AP"])["AP"] > 0.5


def test_ensembles_hold_the_medians_of_their_members(tmp_path):
    train, other = collection(), collection(1)
    members = [ListNet(), RankSVM(scaling="query"), NDCGBoost(rounds=5)]
    ranker = Ensemble(members, n_jobs=1).fit(train)
    assert [NOTE in note for note in ranker.notes_] == [True]
    scores = ranker.predict(other)
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(other).tobytes() == scores.tobytes()


def test_a_model_without_medians_refuses_missing_values(tmp_path):
    """Such as models that earlier releases saved."""
    path, other = tmp_path / "model.dr", collection(1)
    ranker = Regression().fit(collection(share=0.0))
    save(ranker, path)
    description, tensors = read_container(path)
    assert tensors.pop("fill").dtype == np.float32
    write_container(path, description, tensors)
    old, whole = load(path), collection(2, share=0.0)
    assert old.predict(whole).tobytes() == ranker.predict(whole).tobytes()
    with pytest.raises(DataError, match="no value in some rows of column 0, and the model has no medians"):
        old.predict(other)

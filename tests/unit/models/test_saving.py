"""Saving and loading: what comes back is what was saved; anything else is refused in one line."""

import json
import pickle
import struct

import numpy as np
import pandas
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from directrank import AdaRank, ApproxRank, RankBoost, Ranker, Regression, load, make_ranking, save
from directrank.errors import ModelFormatError
from directrank.measures import NDCG
from directrank.models.container import digest, write_container
from directrank.solvers import LBFGS
from directrank.storage.strict_json import dump
from directrank.surrogates import SmoothedPositions


@pytest.fixture(scope="module")
def groups():
    return make_ranking(12, 6, 4, random_state=0)


@pytest.fixture(scope="module")
def saved(groups, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.dr"
    save(Regression().fit(groups), path)
    return path.read_bytes()


def test_composed_ranker_predicts_and_scores(groups, tmp_path):
    ranker = Ranker(SmoothedPositions(NDCG(5)), LBFGS(penalty=0.01, max_iterations=3)).fit(groups)
    save(ranker, tmp_path / "model.dr")
    back = load(tmp_path / "model.dr")
    assert back.predict(groups).tobytes() == ranker.predict(groups).tobytes()
    assert back.score(groups) == ranker.score(groups)


def test_names_of_features_come_back(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"bm25": [0.0, 1.0, 2.0, 0.5], "age": [1.0, 0.0, 1.0, 0.0]})
    ranker = Regression().fit(frame, [0, 1, 2, 0], qid=[1, 1, 2, 2])
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").feature_names_in_.tolist() == ["bm25", "age"]
    by_name = load(tmp_path / "model.dr").predict(frame[["age", "bm25"]])
    np.testing.assert_array_equal(by_name, ranker.predict(frame))


def test_parameters_that_are_objects_are_saved_as_what_they_stand_for(groups, tmp_path):
    first = Regression().fit(groups)
    ranker = ApproxRank(NDCG(5), start=first, random_state=np.random.RandomState(3), max_iterations=2)
    save(ranker.fit(groups), tmp_path / "model.dr")
    parameters = load(tmp_path / "model.dr").get_params()
    assert parameters["measure"] == "nDCG@5"
    assert parameters["start"] == first.scorer_.coefficients.tolist()
    assert parameters["random_state"] is None


def test_what_cannot_be_saved_is_refused_by_name(groups, tmp_path):
    with pytest.raises(
        TypeError, match="a LinearRegression cannot be saved here; classes that can: XENDCG, AdaRank"
    ):
        save(LinearRegression().fit(groups.X, groups.relevance), tmp_path / "model.dr")
    ranker = Regression().fit(groups)
    ranker.ridge = object()
    with pytest.raises(TypeError, match="ridge="):
        save(ranker, tmp_path / "model.dr")
    ranker.ridge = 0.0
    ranker.scorer_ = "linear"
    with pytest.raises(TypeError, match="a str scorer cannot be saved"):
        save(ranker, tmp_path / "model.dr")
    with pytest.raises(ValueError, match="not fitted"):
        save(AdaRank(), tmp_path / "model.dr")
    assert list(tmp_path.iterdir()) == []


SCALERS = {
    "standard": lambda: [StandardScaler()],
    "deviation alone": lambda: [StandardScaler(with_mean=False)],
    "mean alone": lambda: [StandardScaler(with_std=False)],
    "range": lambda: [MinMaxScaler((-1, 3))],
    "robust": lambda: [RobustScaler(), "passthrough", MaxAbsScaler()],
}


@pytest.mark.parametrize("scaling", ["none", "standard", "query"])
@pytest.mark.parametrize("steps", SCALERS.values(), ids=SCALERS)
def test_a_pipeline_of_scalers_is_saved_as_one_ranker_of_raw_features(steps, scaling, groups, tmp_path):
    X = groups.X * [1, 10, 100, 1000] + [5.0, 0, -70, 10]
    X[::7, 1] = np.nan
    pipeline = make_pipeline(*steps(), Regression(scaling=scaling))
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipeline.fit(frame, groups.relevance, regression__qid=groups.qid)
    save(pipeline, tmp_path / "model.dr")
    loaded = load(tmp_path / "model.dr")
    assert loaded.feature_names_in_.tolist() == list("abcd")
    assert "folded into the coefficients" in loaded.message_
    np.testing.assert_allclose(loaded.feature_importances_, pipeline[-1].feature_importances_, rtol=1e-9)
    scaled = pipeline[:-1].transform(frame)
    theirs, ours = pipeline[-1].predict(scaled, qid=groups.qid), loaded.predict(frame, qid=groups.qid)
    assert np.ptp(ours - theirs) <= 1e-5 * np.ptp(theirs)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([PCA(2), Regression()], "a pipeline with PCA cannot be saved"),
        ([MinMaxScaler(clip=True), Regression()], r"MinMaxScaler\(clip=True\) cannot"),
        ([StandardScaler(), RankBoost(rounds=2)], "ranks alike without one: fit and save it alone"),
        ([StandardScaler(), Regression(scaling="log")], "takes logarithms of scaled features"),
        ([StandardScaler(), LinearRegression()], "a LinearRegression cannot be saved"),
    ],
)
def test_what_cannot_be_folded_is_refused_by_name(steps, message, groups, tmp_path):
    pipeline = make_pipeline(*steps)
    qid = {} if message.startswith("a Lin") else {f"{pipeline.steps[-1][0]}__qid": groups.qid}
    pipeline.fit(groups.X, groups.relevance, **qid)
    with pytest.raises(TypeError, match=message):
        save(pipeline, tmp_path / "model.dr")
    assert not list(tmp_path.iterdir())


def test_a_feature_far_from_0_is_not_folded(groups, tmp_path):
    X = groups.X + np.array([1e6, 0.0, 0.0, 0.0])
    pipeline = make_pipeline(StandardScaler(), Regression()).fit(
        X, groups.relevance, regression__qid=groups.qid
    )
    with pytest.raises(ValueError, match=r"feature 0 is .* scaled units from 0"):
        save(pipeline, tmp_path / "model.dr")


def test_of_a_search_the_ranker_inside_is_saved(groups, tmp_path):
    search = GridSearchCV(Regression(), {"ridge": [0.0, 1.0]}, cv=GroupKFold(2))
    with pytest.warns(UserWarning, match="qid is missing"):
        search.fit(groups.X, groups.relevance, groups=groups.qid)
    with pytest.raises(TypeError, match=r"save\(search.best_estimator_, path\)"):
        save(search, tmp_path / "model.dr")


def refused(path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ModelFormatError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"1 qid:1 1:0.5 2:0.25 # a LETOR file\n" * 50,
        pickle.dumps({"class": "Regression"}),
        b"PK\x03\x04" + bytes(100),
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", (1 << 26) + 1) + b"{" + b" " * 200,
        struct.pack("<Q", 200_000) + b"[" * 200_000,
        struct.pack("<Q", 42) + b'{"__metadata__":{"format":"pt"},"a":null} ',
        struct.pack("<Q", 50) + b'{"__metadata__":{"directrank":"\\ud800"},"a":null} ',
    ],
)
def test_other_files_are_refused(content, tmp_path):
    assert "not a model of directrank" in refused(tmp_path / "model.dr", content)


class Canary:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_never_opened(tmp_path):
    refused(tmp_path / "model.dr", pickle.dumps(Canary(tmp_path / "canary")))
    assert not (tmp_path / "canary").exists()


def header_of(content: bytes) -> dict:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length])


def with_header(content: bytes, header: str) -> bytes:
    length = int.from_bytes(content[:8], "little")
    return struct.pack("<Q", len(header)) + header.encode() + content[8 + length :]


@pytest.mark.parametrize(
    "shape", [[1 << 62], [-4], [4, 1 << 40], [1 << 31, 1 << 31], [3], ["4"], [4.0], [True], None, []]
)
def test_wrong_shapes_are_refused_before_allocating(saved, shape, tmp_path):
    header = header_of(saved)
    header["coefficients"]["shape"] = shape
    assert "damaged" in refused(tmp_path / "model.dr", with_header(saved, json.dumps(header)))


def test_a_key_that_stands_twice_is_refused(saved, tmp_path):
    text = json.dumps(header_of(saved))
    twice = text[:-1] + ',"coefficients":{"dtype":"F64","shape":[4],"data_offsets":[0,32]}}'
    refused(tmp_path / "model.dr", with_header(saved, twice))
    description = header_of(saved)["__metadata__"]["directrank"]
    header = header_of(saved)
    header["__metadata__"]["directrank"] = description[:-1] + ',"class":"AdaRank"}'
    refused(tmp_path / "model.dr", with_header(saved, json.dumps(header)))


def forged(path, change, tensors=None) -> str:
    """Write a file whose checksum is right and whose description is not; return the refusal."""
    tensors = tensors or {"coefficients": np.arange(4.0)}
    description = {
        "format": 1,
        "library": "0.1.0",
        "class": "Regression",
        "parameters": {"ridge": 0.0},
        "scorer": "linear",
        "n_features": 4,
        "feature_names": None,
        "fitted": {},
    }
    write_container(path, description | change, tensors)
    with pytest.raises(ModelFormatError) as caught:
        load(path)
    return str(caught.value)


def test_forged_descriptions_are_refused(tmp_path):
    path = tmp_path / "model.dr"
    assert "format 2" in forged(path, {"format": 2})
    assert "install" in forged(path, {"format": 2})
    assert "class 'os.system' is not one of XENDCG, AdaRank" in forged(path, {"class": "os.system"})
    assert "not known" in forged(path, {"scorer": "forest"})
    assert "4 features" not in forged(path, {"n_features": 5})
    assert "do not fit 5 features" in forged(path, {"n_features": 5})
    assert "do not fit" in forged(path, {"feature_names": ["a"]})
    assert "not complete" in forged(path, {"parameters": {"nothing": 1}})
    assert "not complete" in forged(path, {"parameters": None})
    assert "not complete" in forged(path, {"class": ["Regression"]})
    assert "not finite" in forged(path, {}, {"coefficients": np.array([0.0, np.nan, 1.0, 2.0])})
    assert "do not fit" in forged(path, {}, {"coefficients": np.arange(4, dtype=np.float32)})
    assert "not known" in forged(path, {}, {"weights": np.arange(4.0)})


def test_a_forged_file_that_is_in_order_loads(tmp_path):
    """The forgeries above fail for their own fault, not for one they share."""
    with pytest.raises(pytest.fail.Exception):
        forged(tmp_path / "model.dr", {})


def test_every_single_bit_matters(saved, tmp_path):
    path, spellings = tmp_path / "model.dr", 0
    for place in range(0, len(saved), 3):
        path.write_bytes(saved[:place] + bytes([saved[place] ^ 1 << place % 8]) + saved[place + 1 :])
        try:
            save(load(path), path)
        except ModelFormatError:
            continue
        # Another spelling of the same number, such as 1E-16.
        assert path.read_bytes() == saved
        spellings += 1
    assert spellings <= 3


def test_same_model_same_bytes(groups, tmp_path):
    for name in ("a.dr", "b.dr"):
        save(Regression().fit(groups), tmp_path / name)
    assert (tmp_path / "a.dr").read_bytes() == (tmp_path / "b.dr").read_bytes()


def test_digest_depends_on_every_part():
    arrays = {"coefficients": np.arange(4.0)}
    digests = {
        digest({"a": 1}, arrays),
        digest({"a": 2}, arrays),
        digest({"a": 1}, {"weights": np.arange(4.0)}),
        digest({"a": 1}, {"coefficients": np.arange(4.0).reshape(2, 2)}),
        digest({"a": 1}, {"coefficients": np.arange(4.0).view(np.int64)}),
        digest({"a": 1}, {"coefficients": np.arange(1.0, 5.0)}),
    }
    assert len(digests) == 6


def test_failed_write_leaves_the_old_model(saved, groups, tmp_path, monkeypatch):
    import directrank.storage.atomic

    path = tmp_path / "model.dr"
    path.write_bytes(saved)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directrank.storage.atomic.os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left.*model\.dr"):
        save(Regression(ridge=1.0).fit(groups), path)
    assert path.read_bytes() == saved
    assert [each.name for each in tmp_path.iterdir()] == ["model.dr"]


def test_a_file_is_replaced_not_overwritten(saved, groups, tmp_path):
    """Whoever has the old file open, or linked, goes on reading the old model."""
    path, old = tmp_path / "model.dr", tmp_path / "old.dr"
    path.write_bytes(saved)
    old.hardlink_to(path)
    save(Regression(ridge=1.0).fit(groups), path)
    assert old.read_bytes() == saved
    assert path.read_bytes() != saved


def test_canonical_text_refuses_what_json_lacks():
    with pytest.raises(TypeError, match="keys must be text"):
        dump({1: 2})
    assert dump({"b": float("inf"), "a": (1, 2.5)}) == '{"a":[1,2.5],"b":{"$float":"inf"}}'

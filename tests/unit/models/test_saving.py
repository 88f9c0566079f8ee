"""Saving and loading: what comes back is what was saved; anything else is refused in one line."""

import json
import pickle
import struct

import numpy as np
import pandas
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from directrank import ApproxRank, Regression, load, make_ranking, save
from directrank.errors import ModelFormatError
from directrank.estimators import methods
from directrank.estimators.method import Method
from directrank.measures import NDCG
from directrank.models.saving import saved_as_ranker


@pytest.fixture(scope="module")
def groups():
    return make_ranking(12, 6, 4, random_state=0)


@pytest.fixture(scope="module")
def saved(groups, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.dr"
    save(Regression().fit(groups), path)
    return path.read_bytes()


def test_parameters_that_are_objects_are_saved_as_what_they_stand_for(groups, tmp_path):
    first = Regression().fit(groups)
    ranker = ApproxRank(NDCG(5), start=first, random_state=np.random.RandomState(3), max_iterations=2)
    save(ranker.fit(groups), tmp_path / "model.dr")
    parameters = load(tmp_path / "model.dr").get_params()
    assert parameters["measure"] == "nDCG@5"
    assert parameters["start"] == first.scorer_.coefficients.tolist()
    assert parameters["random_state"] is None


class OnlyInTheTable(Regression):
    """A method whose class has no public name."""


def test_a_method_of_the_table_alone_comes_back_as_its_class(groups, tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "METHODS", (*methods.METHODS, Method("made-up", OnlyInTheTable)))
    ranker = OnlyInTheTable(ridge=0.5).fit(groups)
    save(ranker, tmp_path / "model.dr")
    loaded = load(tmp_path / "model.dr")
    assert type(loaded) is OnlyInTheTable
    assert loaded.get_params() == ranker.get_params()
    assert loaded.message_ == ranker.message_
    np.testing.assert_array_equal(loaded.predict(groups), ranker.predict(groups))
    monkeypatch.undo()
    with pytest.raises(ModelFormatError, match="class 'OnlyInTheTable' is not one of"):
        load(tmp_path / "model.dr")


@pytest.mark.parametrize(
    "kind", dict.fromkeys(method.estimator for method in methods.METHODS), ids=lambda c: c.__name__
)
def test_the_class_of_every_method_can_be_read(kind):
    assert not saved_as_ranker(kind())


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

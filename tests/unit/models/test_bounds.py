"""What is no model is refused before it is read: sizes, types, places of tensors, pipes, nesting."""

import json
import os
import struct

import numpy as np
import pytest
from safetensors.numpy import load as reference

from directrank import Regression, load, make_ranking, save
from directrank.errors import ModelFormatError
from directrank.models import container
from directrank.models.container import read_container, write_container


def entry(kind="F64", shape=(4,), offsets=(0, 32)):
    return {"dtype": kind, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("header", "n_bytes"),
    [
        ({"a": entry()}, 40),
        ({"a": entry()}, 24),
        ({"a": entry(offsets=(8, 40))}, 40),
        ({"a": entry(), "b": entry()}, 32),
        ({"a": entry(), "b": entry(offsets=(24, 56))}, 56),
        ({"a": entry(offsets=(32, 0))}, 32),
        ({"a": entry(offsets=(0, 16))}, 16),
        ({"a": entry("F16", (16,))}, 32),
        ({"a": entry("O", (4,))}, 32),
        ({"a": entry(["F64"])}, 32),
        ({"a": entry(shape=(True, 4))}, 32),
        ({"a": entry(shape=(1 << 62, 1 << 62))}, 32),
        ({"a": entry(shape=[1] * 9 + [4])}, 32),
        ({"a": {**entry(), "more": 1}}, 32),
        ({"a": {"dtype": "F64", "data_offsets": [0, 32]}}, 32),
        ({"a": [0, 32]}, 32),
    ],
)
def test_tensors_that_do_not_account_for_every_byte_are_refused(header, n_bytes, tmp_path):
    text = json.dumps({"__metadata__": {"directrank": '{"sha256":"0"}'}, **header}).encode()
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(text)) + text + bytes(n_bytes))
    with pytest.raises(ModelFormatError, match="the model is damaged"):
        read_container(tmp_path / "m")


def test_the_file_is_one_that_safetensors_reads(tmp_path):
    tensors = {
        "a": np.arange(3.0), "b": np.arange(6, dtype=np.float32).reshape(2, 3),
        "c": np.arange(5), "d": np.arange(2, dtype=np.int32), "e": np.zeros((0, 2)),
        "f": np.array([True, False]),
    }  # fmt: skip
    write_container(tmp_path / "m", {"format": 1, "library": "0.1.0"}, tensors)
    description, ours = read_container(tmp_path / "m")
    theirs = reference((tmp_path / "m").read_bytes())
    assert description == {"format": 1, "library": "0.1.0"}
    assert ours.keys() == theirs.keys() == tensors.keys()
    for name, array in tensors.items():
        assert ours[name].dtype == theirs[name].dtype == array.dtype
        np.testing.assert_array_equal(ours[name], array)


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_a_description_that_is_nested_deeply_is_refused(tmp_path, depth):
    inner = '{"parameters":' + "[" * depth + "]" * depth + ',"sha256":"0"}'
    header = json.dumps({"__metadata__": {"directrank": inner}}).encode()
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelFormatError, match="not a model of directrank"):
        load(tmp_path / "m")


def test_pipes_and_devices_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFormatError, match="a pipe or a device, expected the file of a model"):
            load(path)


def test_limits_are_named(tmp_path, monkeypatch):
    header = b'{"a":' + b" " * container.MAX_HEADER
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelFormatError, match=r"header takes 16777221 bytes, at most 16777216 are read"):
        load(tmp_path / "m")
    with (tmp_path / "m").open("wb") as file:  # without taking room on the disk
        file.write(struct.pack("<Q", 2) + b"{}")
        file.truncate(container.MAX_FILE + 1)
    with pytest.raises(ModelFormatError, match=r"takes 1073741825 bytes, at most 1073741824 are read"):
        load(tmp_path / "m")
    ranker = Regression().fit(make_ranking(4, 5, 2, random_state=0))
    monkeypatch.setattr(container, "MAX_FILE", 500)
    with pytest.raises(ValueError, match=r"m: the model cannot be saved: it takes \d+ bytes, at most 500"):
        save(ranker, tmp_path / "m")


def test_a_large_model_is_read_without_a_second_copy(tmp_path):
    size = 40 << 20
    write_container(tmp_path / "m", {"format": 1}, {"a": np.ones(size // 8)})
    import tracemalloc

    tracemalloc.start()
    try:
        read_container(tmp_path / "m")
        assert tracemalloc.get_traced_memory()[1] < 1.1 * size
    finally:
        tracemalloc.stop()

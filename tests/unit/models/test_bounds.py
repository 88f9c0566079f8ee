"""What is no model is refused before it is read: sizes, types, places of tensors, pipes, nesting."""

import json
import os
import struct

import numpy as np
import pytest
from safetensors.numpy import load as reference

from directrank import load
from directrank.errors import ModelFormatError
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


def test_pipes_and_devices_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFormatError, match="a pipe or a device, expected the file of a model"):
            load(path)

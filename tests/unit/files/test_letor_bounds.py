"""Reading text takes bounded memory, and the first fault of a file is the one that is told."""

import gzip
import os
import subprocess
import sys
import threading

import pytest

from directrank.data.grouping import id_array
from directrank.errors import DataFormatError
from directrank.files import opening as blocks
from directrank.files import read_letor
from directrank.files.scores import read_scores
from groups import first_group

PEAK = """
import resource, sys
from directrank import read_letor
from directrank.errors import DataError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_letor(sys.argv[1])
except DataError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def megabytes_to_read(path) -> tuple[str, float]:
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    *lines, peak = ended.stdout.splitlines()
    return " ".join(lines), int(peak) / 1024


@pytest.mark.heavy
@pytest.mark.parametrize(
    "piece",
    first_group([each * (1 << 20) for each in (b"\0", b"#", b"1", b"\xff")], lambda piece: piece[:1] == b"#"),
    ids=["nul", "#", "1", "ff"],
)
def test_a_zipped_line_without_end_takes_little_memory(tmp_path, piece):
    with gzip.open(tmp_path / "bomb.gz", "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(piece)
    message, peak = megabytes_to_read(tmp_path / "bomb.gz")
    assert f"bomb.gz:1:1: the line is longer than {blocks.LONGEST_LINE} bytes" in message
    assert peak < 300


def test_the_longest_line_is_read_and_a_longer_one_named(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 5000)
    path = tmp_path / "file"
    path.write_bytes(b"1 qid:1 1:1\n\n2 qid:1 1:2 #" + b"c" * 4000 + b"\n")
    assert read_letor(path).X[:, 0].tolist() == [1, 2]
    monkeypatch.setattr(blocks.blocks_of, "__defaults__", ({}, 64))
    assert read_letor(path).X[:, 0].tolist() == [1, 2]
    path.write_bytes(b"1 qid:1 1:1\n\n2 qid:1 1:2 #" + b"c" * 6000 + b"\n")
    with pytest.raises(DataFormatError, match="line is longer than 5000 bytes") as caught:
        read_letor(path)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"1 qid:1 1:1\n1 qid:1 1:x\n1 qid:1 1:\0\n", 2),
        (b"1 qid:1 1:1\n1 quid:1 1:1\n1 qid:1 1:\r1\n", 2),
        (b"1 qid:1 1:\r1\n1 qid:1 1:\0\n", 1),
        (b"1 qid:1 1:\0\n1 qid:1 1:\r1\n", 1),
        (b"1 qid:1 1:x\n1e400 qid:1 1:1\n", 1),
        (b"1 qid:1 2:1 1:1\n1 qid:\x01 1:1\n", 1),
        (b"1 qid:\xff 1:1\n1e400 qid:1 1:1\n", 1),
        (b"1e400 qid:1 1:1\n1 qid:\xff 1:1\n", 1),
        (b"1 qid:1 1:1\n1e400 qid:1 1:1\nbad\n", 2),
        (b"1 qid:1 1:1\n1 qid:1 1:x\n" + b"1" * 6000, 2),
    ],
)
@pytest.mark.parametrize("size", [16, 2**20])
def test_the_first_fault_is_told_whoever_finds_it(tmp_path, monkeypatch, text, line, size):
    monkeypatch.setattr(blocks, "LONGEST_LINE", 5000)
    monkeypatch.setattr(blocks.blocks_of, "__defaults__", (size,))
    (tmp_path / "file").write_bytes(text)
    with pytest.raises(DataFormatError) as caught:
        read_letor(tmp_path / "file")
    assert caught.value.line == line


def test_a_fault_before_the_end_of_a_broken_archive_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks.blocks_of, "__defaults__", ({}, 64))
    whole = gzip.compress(b"1 qid:1 1:x\n" + b"".join(b"1 qid:1 1:%d\n" % each for each in range(9000)))
    (tmp_path / "file").write_bytes(whole[: len(whole) - 100])
    with pytest.raises(DataFormatError) as caught:
        read_letor(tmp_path / "file")
    assert caught.value.line == 1


def test_one_long_query_name_does_not_widen_all(tmp_path):
    lines = [b"1 qid:q%d 1:1" % each for each in range(2000)]
    (tmp_path / "file").write_bytes(b"\n".join([*lines, b"0 qid:" + b"long" * 10_000 + b" 1:2"]))
    groups = read_letor(tmp_path / "file")
    assert groups.queries.qid.nbytes < 100_000
    assert groups.queries.qid[-1] == "long" * 10_000
    assert id_array(["a"] * 2000 + ["long" * 10_000]).dtype == object


def test_a_pipe_of_scores_is_read_only_as_far_as_there_are_documents(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write_for_ever():
        with path.open("wb", buffering=0) as pipe:
            try:
                while True:
                    pipe.write(b"0.5\n" * 1000)
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=write_for_ever)
    writer.start()
    with pytest.raises(DataFormatError, match="one score too many: data has 3 documents"):
        read_scores(path, 3, "data")
    writer.join(30)
    assert not writer.is_alive()

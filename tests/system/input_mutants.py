"""Damage model files and LETOR files at random, and count what the readers make of them.

    python tests/system/input_mutants.py models --count 3000
    python tests/system/input_mutants.py readers --count 10000

A model survives if it is refused in one line, or predicts. A LETOR file survives if the reader returns the
bits of the exact parser in `exact_letor.py`, or refuses the line that it refuses. The exit code is 1 if one
does not.
"""

import argparse
import codecs
import gzip
import json
import random
import struct
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from directrank import RankBoost, Regression, load, make_ranking, read_letor, save
from directrank.errors import DataFormatError, ModelFormatError
from directrank.models.container import read_container, write_container
from exact_letor import Refused, parsed
from tally import HungError, Tally, limited

GROUPS = make_ranking(8, 6, 4, random_state=0)
#: Values that no description has.
ODD = [
    None, True, -1, 0, 10**30, 1.5, float("nan"), float("inf"), "", "x", "__class__", [], {}, [[]] * 3,
    {"a": {}},
]  # fmt: skip
WORDS = [
    b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"#", b":", b"1:", b"qid:", b" qid:1 ", b"1:1 1:2", b"0:1",
    b"NULL", b"nan", b"inf", b"-", b"+", b".", b"e", b"1e39", b"-1e-46", b"0x1", b"1_0", b"\xff",
    "é".encode(), "１".encode(), b"\xef\xbb\xbf", b"9" * 20, b"0." + b"3" * 40, b"2147483648:1",
    b" # docid = D7 x", b"#docid=", b"\x0b", b"1e", b"3.4028236e38", b"16777217.5",
]  # fmt: skip
TEXTS = [
    b"2 qid:10 1:0.5 2:0.25 3:-1 #docid = GX1 inc = 1\n0 qid:10 1:1e-3 3:.5\n1 qid:11 2:7 # a comment\n",
    b"0 qid:a 1:1\r\n1 qid:a 1:2 2:3.5\r\n\r\n# only a comment\r\n3 qid:b 2:1e5\r\n0.5 qid:a 1:-0",
    b"1 qid:007 1:0.1000000014901161193847656 2:16777217 3:1e-45\n0 qid:7 1:123456789012345678901e-20\n",
    b"".join(b"%d qid:%d 1:%d.%d 5:%d\n" % (i % 3, i // 4, i, i * 7, i) for i in range(40)),
]


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return content with one to three changes of bytes."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.randint(0, 30))
        content = content[:at] + piece(rng, content[at:end]) + content[end:]
        if rng.random() < 0.03:
            content = content[:at]
    return content


def piece(rng: random.Random, text: bytes) -> bytes:
    """Return what replaces a piece of text."""
    kind = rng.randrange(6)
    if kind == 0:
        return bytes([text[0] ^ 1 << rng.randrange(8)]) + text[1:] if text else b""
    if kind == 1:
        return b""
    if kind == 2:
        return rng.choice(WORDS) + text
    if kind == 3:
        return text * 2
    if kind == 4:
        return rng.randbytes(rng.randint(1, 6)) + text
    return bytes(rng.choice(b"0123456789") if 48 <= each < 58 else each for each in text)


def signed(rng: random.Random, path: Path) -> None:
    """Write a model again, with a checksum that fits, after a change of its description or its tensors."""
    description, tensors = read_container(path)
    if rng.random() < 0.5:
        where = description
        while True:
            key = rng.choice(list(where))
            if not isinstance(where[key], dict) or not where[key] or rng.random() < 0.3:
                break
            where = where[key]
        where[key] = rng.choice(ODD)
    else:
        name = rng.choice(list(tensors))
        tensors[name] = changed(rng, tensors[name])
    write_container(path, description, tensors)


def changed(rng: random.Random, tensor: np.ndarray) -> np.ndarray:
    """Return a tensor with other values, or another shape or type."""
    kind = rng.randrange(5)
    if kind == 0:
        return tensor[:-1].copy()
    if kind == 1:
        return tensor.reshape(1, -1)
    if kind == 2:
        return tensor.astype(rng.choice(["<f4", "<f8", "<i4", "<i8"]))
    other = tensor.copy()
    values = [-1, 0, 1, 7, 2**31 - 1, -(2**31)] if tensor.dtype.kind == "i" else [np.nan, np.inf, 1e308, -0.0]
    with np.errstate(over="ignore"):
        other[rng.randrange(len(other))] = rng.choice(values)
    return other


def with_header(rng: random.Random, content: bytes) -> bytes:
    """Return a model file with another value somewhere in its header."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    where = header
    while isinstance(where, dict) and where:
        key = rng.choice(list(where))
        if not isinstance(where[key], (dict, list)) or not where[key] or rng.random() < 0.3:
            where[key] = rng.choice(ODD)
            break
        where = where[key] if isinstance(where[key], dict) else where
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def try_model(rng: random.Random, path: Path, content: bytes, truth: bytes) -> str:
    """Damage a model and load it; return the outcome; those of `NOT_ALLOWED` are not."""
    path.write_bytes(content)
    resigned = rng.random() < 0.3
    if resigned:
        signed(rng, path)
    else:
        path.write_bytes(with_header(rng, content) if rng.random() < 0.3 else damaged(rng, content))
    try:
        scores = load(path).predict(GROUPS)
    except ModelFormatError as error:
        one_line = str(error).startswith(str(path)) and "\n" not in str(error)
        return "refused" if one_line else f"LOST: {error}"
    except ValueError as error:
        # A forged model of another number of features, which says so.
        return "refused" if resigned and "features" in str(error) else f"LOST: {error!r}"
    if scores.dtype != np.float64 or scores.shape != (GROUPS.n_docs,):
        return "WRONG: no scores"
    return "predicts" if resigned or scores.tobytes() == truth else "WRONG: other scores"


def try_reader(rng: random.Random, path: Path) -> str:
    """Damage a LETOR file and read it; return the outcome."""
    text = damaged(rng, rng.choice(TEXTS))
    zipped = rng.random() < 0.1
    path.write_bytes(gzip.compress(text) if zipped else text)
    try:
        expected = parsed(text.removeprefix(codecs.BOM_UTF8))
    except Refused as refusal:
        expected = refusal.line
    if not isinstance(expected, int) and expected["X"] is None:
        return "too wide to try"
    try:
        groups = read_letor(path)
    except DataFormatError as error:
        fits = isinstance(expected, int) and error.line == expected and "\n" not in str(error)
        return "refused" if fits else f"LOST: {text!r}: {error}, expected {expected}"
    if isinstance(expected, int):
        return f"WRONG: {text!r}: read, expected a fault in line {expected}"
    found = {
        "X": groups.X, "relevance": groups.relevance, "qid": groups.qid.tolist(),
        "docid": None if groups.docid is None else groups.docid.tolist(),
    }  # fmt: skip
    for name in ("X", "relevance"):
        found[name], expected[name] = found[name].tobytes(), expected[name].tobytes()
    wrong = [name for name in found if found[name] != expected[name]]
    return f"WRONG: {text!r}: other {wrong}" if wrong else "read"


#: The counts of outcomes that are not allowed, by how they begin.
NOT_ALLOWED = {"LOST": "crashes", "HUNG": "hangs", "WRONG": "wrong"}


def outcomes_of(what: str, count: int, rng: random.Random) -> Counter:
    """Try mutants; return how many had each outcome."""
    outcomes = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        rankers = [Regression().fit(GROUPS), RankBoost(rounds=5).fit(GROUPS)]
        models = []
        for ranker in rankers:
            save(ranker, path)
            models.append((path.read_bytes(), ranker.predict(GROUPS).tobytes()))
        while outcomes.total() < count:
            try:
                model = rng.choice(models)
                with limited():
                    outcome = try_model(rng, path, *model) if what == "models" else try_reader(rng, path)
            except HungError:
                outcome = f"HUNG: {path.read_bytes()!r}"
            except Exception as error:
                outcome = f"LOST: {type(error).__name__}: {error}"
            if outcome != "too wide to try":
                outcomes[outcome] += 1
    return outcomes


def main(arguments: list[str] | None = None) -> int:
    """Try mutants, and print how many survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["models", "readers"])
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tally, allowed = Tally(), []
    for outcome, times in sorted(outcomes_of(given.what, given.count, random.Random(given.seed)).items()):
        name = NOT_ALLOWED.get(outcome.partition(":")[0], "survived")
        for _ in range(times):
            tally.add(name)
        if name == "survived":
            allowed.append(f"{times} {outcome}")
        else:
            print(outcome[:2000], file=sys.stderr)
    print(f"{given.what}: {tally.tried} tried, {tally.survived} survived ({', '.join(allowed)})")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

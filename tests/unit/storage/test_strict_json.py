"""Strict JSON: what is nested too deeply is refused before anyone walks it."""

import hashlib

import pytest

from directrank.storage.strict_json import MAX_DEPTH, StrictJSONError, dump, parse, signed, take_signature


def nested(depth: int) -> bytes:
    return (
        b'{"a":' * (depth // 2)
        + b"[" * (depth - depth // 2)
        + b"]" * (depth - depth // 2)
        + b"}" * (depth // 2)
    )


def test_what_is_nested_as_deep_as_allowed_is_read():
    assert dump(parse(nested(MAX_DEPTH))).encode() == nested(MAX_DEPTH)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 300, 900, 100_000])
def test_what_is_nested_deeper_is_refused(depth):
    with pytest.raises(StrictJSONError):
        parse(nested(depth))


def test_a_signature_is_that_of_the_rest():
    digest = hashlib.sha256(b'{"a":1,"b":"x"}').hexdigest()
    line = signed({"b": "x", "a": 1})
    assert line == f'{{"a":1,"b":"x","sha256":"{digest}"}}\n'
    content = parse(line.encode())
    assert take_signature(content)
    assert content == {"a": 1, "b": "x"}
    assert not take_signature({"a": 2, "b": "x", "sha256": digest})
    with pytest.raises(KeyError):
        take_signature({"a": 1})

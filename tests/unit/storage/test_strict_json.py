"""Strict JSON: what is nested too deeply is refused before anyone walks it."""

import pytest

from directrank.storage.strict_json import MAX_DEPTH, StrictJSONError, dump, parse


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

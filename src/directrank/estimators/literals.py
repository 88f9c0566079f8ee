"""Values as people type them, after ``=`` in the brackets of a method and in options of the command line."""

import json
from typing import Any

WORDS = {"true": True, "false": False, "none": None, "null": None}


def value_of(text: str) -> Any:
    """Return a typed value: a number, true, false, none, a tuple of numbers, what JSON reads, or the text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    pieces = [value_of(piece) for piece in text.split(",")] if "," in text else []
    if pieces and all(type(piece) in (int, float) for piece in pieces):
        return tuple(pieces)
    for kind in (int, float, json.loads):
        try:
            return kind(text)
        except ValueError:
            continue
    is_quoted = len(text) > 1 and text[0] == text[-1] == "'"
    return text[1:-1] if is_quoted else text

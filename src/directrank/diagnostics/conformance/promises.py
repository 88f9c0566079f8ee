"""Promises: statements that are tried on an object, and what came of it."""

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Tries one promise of an object: raises if it is broken, and may return a remark. The first line of its
#: docstring is the promise, in words.
Promise = Callable[[Any], str | None]


class BrokenPromiseError(AssertionError):
    """An object does not keep a promise; the message says where."""


@dataclass(frozen=True)
class Verdict:
    """What came of trying one promise: why it is broken, or a remark."""

    promise: str
    kept: bool
    said: str = ""


def need(holds: Any, problem: str) -> None:
    """Raise `BrokenPromiseError` unless a condition holds."""
    if not holds:
        raise BrokenPromiseError(problem)


def words_of(promise: Promise) -> str:
    """Return a promise in words."""
    line = (promise.__doc__ or promise.__name__).splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]


def tried(thing: Any, promises: Sequence[Promise]) -> list[Verdict]:
    """Try promises on an object; errors of its code count as broken promises."""
    return [_tried(thing, each) for each in promises]


def _tried(thing: Any, promise: Promise) -> Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Verdict(words_of(promise), True, promise(thing) or "")
        except BrokenPromiseError as error:
            return Verdict(words_of(promise), False, str(error))
        except Exception as error:  # whatever code of a user raises
            return Verdict(words_of(promise), False, f"{_place(error)}{type(error).__name__}: {error}")


def _place(error: Exception) -> str:
    """Return file and line of the last line outside of directrank that an error passed."""
    inside = str(Path(__file__).parents[2])
    lines = traceback.extract_tb(error.__traceback__)
    own = [each for each in lines if not each.filename.startswith((inside, sys.prefix, sys.base_prefix))]
    return f"{own[-1].filename}:{own[-1].lineno}: " if own else ""

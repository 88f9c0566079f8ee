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
    """Try promises on an object; errors of its code count as broken promises, with their file and line."""
    verdicts, library = [], (str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix)
    for promise in promises:
        kept, said = True, ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                said = promise(thing) or ""
            except BrokenPromiseError as error:
                kept, said = False, str(error)
            except Exception as error:  # whatever code of a user raises
                lines = traceback.extract_tb(error.__traceback__)
                own = [each for each in lines if not each.filename.startswith(library)]
                place = f"{own[-1].filename}:{own[-1].lineno}: " if own else ""
                kept, said = False, f"{place}{type(error).__name__}: {error}"
        verdicts.append(Verdict(words_of(promise), kept, said))
    return verdicts

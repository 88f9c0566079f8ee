"""Errors that a user can cause. Every message says where, what was expected and the remedy."""

import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

__all__ = [
    "CellError",
    "ChangedOrderError",
    "DataError",
    "DataFormatError",
    "EnvironmentVariableError",
    "ExportError",
    "HeaderError",
    "MeasureNameError",
    "MethodError",
    "ModelFormatError",
    "PluginError",
    "UnfitPairError",
    "check_choice",
    "check_not_negative",
    "documentation_page",
    "install_line",
    "listed",
    "of_option",
]

#: Names that a message lists.
LISTED = 12


class DataError(ValueError):
    """The data cannot be used as they are."""


class HeaderError(DataError):
    """The first line of a table holds values where names of columns are expected.

    Parameters
    ----------
    finding : str
        Where it is, and the values.
    remedy : str
        What to write.
    """

    def __init__(self, finding: str, remedy: str):
        self.finding, self.remedy = finding, remedy
        super().__init__(f"{finding}; {remedy}")


class CellError(DataError, TypeError):
    """A cell of features is no number; also a TypeError, which scikit-learn's checks expect."""


class DataFormatError(DataError):
    """A file breaks its format at a known place.

    Parameters
    ----------
    path : str
        The file.
    line, column : int
        1-based place in the file; 0 when the whole line or the whole file is meant.
    problem : str
        What was found and what was expected.
    """

    def __init__(self, path: str, line: int, column: int, problem: str):
        self.path, self.line, self.column, self.problem = str(path), int(line), int(column), problem
        place = "".join(f":{number}" for number in (line, column) if number)
        super().__init__(f"{self.path}{place}: {problem}")

    def __reduce__(self):
        return type(self), (self.path, self.line, self.column, self.problem)


class MeasureNameError(ValueError):
    """A measure's name does not follow the grammar, or is unknown."""


class UnfitPairError(TypeError):
    """A solver needs an oracle that the surrogate does not offer."""


class ModelFormatError(ValueError):
    """A file is not a model of this library, or has been damaged."""


class ExportError(ValueError):
    """A ranker that the target of an export cannot express; the message says what and the remedy."""


class PluginError(ValueError):
    """A plug-in cannot be loaded; the message says the file, the line and the cause."""


class EnvironmentVariableError(ValueError):
    """A variable of the environment has a value that cannot be used."""


class MethodError(RuntimeError):
    """A method failed on data that are themselves in order."""


class ChangedOrderError(MethodError):
    """An exported ranker orders documents otherwise than the ranker; the message says how much is lost."""


@contextmanager
def of_option(name: str, key: str = "") -> Iterator[None]:
    """Record in a ValueError which option caused it, for the command line, which prints it as typed."""
    try:
        yield
    except ValueError as error:
        error.__dict__.setdefault("option", (name, key))
        raise


def install_line(extra: str) -> str:
    """Return the command that installs an extra of directrank, into the environment that runs it.

    That directrank itself is installed there is enough: pip then asks no index for it.
    """
    return f"{shlex.quote(sys.executable)} -m pip install 'directrank[{extra}]'"


def documentation_page(name: str) -> str:
    """Return how texts name a page of the documentation, whose files an installed package does not have."""
    return f'page "{name}" of the documentation'


def check_not_negative(parameter: str, value: float) -> None:
    """Raise `ValueError` if the value of a parameter is below 0, infinite or not a number."""
    if not 0 <= value < math.inf:
        raise ValueError(f"{parameter} must be a number ≥ 0, not {value}")


def check_choice(parameter: str, value: object, choices: Iterable[object]) -> None:
    """Raise `ValueError`, naming the choices, if the value of a parameter is none of them."""
    words = list(choices)
    if value not in words:
        raise ValueError(f"{parameter} must be one of {', '.join(map(repr, words))}, not {value!r}")


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list, with commas.

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    str
    """
    shown = ", ".join(str(name) or "a column without a name" for name in names[:LISTED])
    return shown + (f", … ({len(names)} in all)" if len(names) > LISTED else "")

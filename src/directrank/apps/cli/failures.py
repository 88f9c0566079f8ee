"""Failures of commands: one line for a person, an exit code for a script."""

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from directrank.apps.cli.interrupts import stoppable
from directrank.errors import (
    DataError,
    EnvironmentVariableError,
    MeasureNameError,
    MethodError,
    ModelFormatError,
    PluginError,
)
from directrank.storage.atomic import STDOUT
from directrank.storage.names import printable

if TYPE_CHECKING:
    from directrank.apps.evaluation import Gate

#: `UNMET`: a condition that the command line states does not hold, or is not shown.
DONE, BUG, USAGE, DATA, FAILED, UNMET, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

# Older versions of typer use click, newer ones a copy of it; the class is a base of BadParameter in both.
ClickException: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


def gate_code(gate: "Gate", tolerate_unclear: bool) -> int:
    """Return the exit code of a verdict; one that the queries are too few for may be tolerated."""
    from directrank.apps.evaluation import CANNOT_TELL, PASS

    return DONE if gate.verdict in (PASS, *([CANNOT_TELL] * tolerate_unclear)) else UNMET


class UsageError(Exception):
    """The command line asks for something that does not exist."""


class InterruptedRunError(Exception):
    """A command was stopped by Ctrl-C; the message says what was saved."""


@contextmanager
def usage(typed: str = "") -> Iterator[None]:
    """Turn a ValueError into a `UsageError` that begins with the option as typed; data errors pass.

    An error that names its option passes too: the command prints it as typed.
    """
    try:
        yield
    except (DataError, ModelFormatError):
        raise
    except (ValueError, TypeError) as error:
        if not typed and hasattr(error, "option"):
            raise
        raise UsageError(f"{typed}: {error}" if typed else str(error)) from error


@contextmanager
def as_typed(parameters: Sequence[Any], words: Mapping[str, Any]) -> Iterator[None]:
    """Turn an error that names its option into a `UsageError` that begins with the option if it was typed."""
    try:
        yield
    except ValueError as error:
        if not hasattr(error, "option") or isinstance(error, (DataError, ModelFormatError)):
            raise
        name, key = error.__dict__["option"]
        word = words.get(name)
        if isinstance(word, list):
            word = next(typed for typed in word if typed.startswith(f"{key}=")) if key else ",".join(word)
        flag = next((parameter.opts[0] for parameter in parameters if parameter.name == name), "")
        raise UsageError(str(error) if word is None else f"{flag} {word}: {error}") from error


def ended(command: Callable[[], object], *, debug: bool) -> int:
    """Run a command and return its exit code; failures are printed on stderr."""
    warned: set[str] = set()

    def warn_once(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in warned:
            warned.add(str(message))
            print_error(f"warning: {message}")

    warnings.showwarning = warn_once
    if isinstance(sys.stdout, io.TextIOWrapper):  # Paths may hold bytes that are not text.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with stoppable():
            code = command()
        sys.stdout.flush()
    except (typer.Exit, typer.Abort, ClickException):
        raise
    except BrokenPipeError as error:
        if error.filename not in (None, STDOUT):
            print_error(f"{error.filename}: its reader has gone before everything was written")
            return DATA
        # The reader has closed the pipe (`| head`). Discard what is still buffered.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        code, message = _explained(error, debug)
        print_error(message)
    return code if isinstance(code, int) else DONE


def usage_problem(error: Exception) -> int:
    """Print why a command line cannot be parsed, and return its exit code."""
    if isinstance(error, typer.Abort):
        print_error("aborted")
        return INTERRUPTED
    if not isinstance(error, ClickException):
        raise error
    context = getattr(error, "ctx", None)
    message = error.format_message()  # pyright: ignore[reportAttributeAccessIssue]
    path = context.command_path if context else "directrank"
    print_error(f"{message.rstrip('.')}. See `{path} --help`.")
    return USAGE


def _explained(error: BaseException, debug: bool) -> tuple[int, str]:
    """Return the exit code and the message of a failure."""
    for code, kinds in (
        (INTERRUPTED, (KeyboardInterrupt, InterruptedRunError)),
        (USAGE, (UsageError, MeasureNameError, PluginError, EnvironmentVariableError)),
        (DATA, (DataError, ModelFormatError)),
        (FAILED, MethodError),
    ):
        if isinstance(error, kinds):
            return code, str(error) or "interrupted"
    if isinstance(error, MemoryError):
        return DATA, f"the data do not fit in memory: {str(error).strip() or 'allocation failed'}"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return DATA, f"{place}{error.strerror or error}"
    advice = "" if debug else " (a bug: rerun with --debug and report the output)"
    return BUG, f"{type(error).__name__}: {error}{advice}"


def print_error(message: str) -> None:
    """Print one line on stderr, also with --quiet and --json."""
    print("directrank:", printable(" ".join(message.split())), file=sys.stderr)

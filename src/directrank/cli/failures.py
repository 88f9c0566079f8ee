"""How a command ends when something is wrong: one line for a person, a code for a script."""

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from directrank.experiments.jobs.interrupts import stoppable

DONE, BUG, USAGE, DATA, FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 130

# typer once stood on click and now carries its own copy: the class is found where both have it.
ClickException: type[Exception] = next(
    each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException"
)


class UsageError(Exception):
    """The command line asks for something that does not exist."""


class InterruptedRunError(Exception):
    """Stopped by Ctrl-C; says what was kept."""


@contextmanager
def usage() -> Iterator[None]:
    """Turn a ValueError about a name or a number into a problem of usage; data errors stay what they are."""
    from directrank.errors import DataError, ModelFormatError

    try:
        yield
    except (DataError, ModelFormatError):
        raise
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


@contextmanager
def method_may_fail(name: str) -> Iterator[None]:
    """Say which method failed, whatever it raised; data errors stay what they are."""
    from directrank.errors import DataError, MethodError

    try:
        yield
    except (DataError, OSError):
        raise
    except Exception as error:
        raise MethodError(f"{name} failed: {type(error).__name__}: {error}") from error


def ended(command: Callable[[], Any], *, debug: bool) -> int:
    """Run a command and return its exit code; failures are printed on stderr."""
    warnings.showwarning = _short_warning
    try:
        with stoppable():
            code = command()
        sys.stdout.flush()
    except (typer.Exit, typer.Abort, ClickException):
        raise
    except BrokenPipeError:
        # The reader has seen enough (`| head`). What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        code, message = _said(error, debug)
        _print_error(message)
    return code if isinstance(code, int) else DONE


def usage_problem(error: Exception) -> int:
    """Return the exit code of a command line that could not be parsed, having said why."""
    if isinstance(error, typer.Abort):
        _print_error("aborted")
        return INTERRUPTED
    if not isinstance(error, ClickException):
        raise error
    context = getattr(error, "ctx", None)
    message = error.format_message()  # pyright: ignore[reportAttributeAccessIssue]
    if not message:  # nothing was asked for: the help has been printed
        return USAGE
    path = context.command_path if context else "directrank"
    _print_error(f"{message.rstrip('.')}. See `{path} --help`.")
    return USAGE


def _said(error: BaseException, debug: bool) -> tuple[int, str]:
    """Return the exit code of a failure, and what to say."""
    from directrank.errors import DataError, MeasureNameError, MethodError, ModelFormatError

    if isinstance(error, (KeyboardInterrupt, InterruptedRunError)):
        return INTERRUPTED, str(error) or "interrupted"
    if isinstance(error, (UsageError, MeasureNameError)):
        return USAGE, str(error)
    if isinstance(error, (DataError, ModelFormatError)):
        return DATA, str(error)
    if isinstance(error, MethodError):
        return FAILED, str(error)
    if isinstance(error, MemoryError):
        return DATA, f"the data do not fit in memory: {error or 'allocation failed'}"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return DATA, f"{place}{error.strerror or error}"
    advice = "" if debug else " (a bug: run again with --debug and report what it prints)"
    return BUG, f"{type(error).__name__}: {error}{advice}"


def _print_error(message: str) -> None:
    line = " ".join(message.split())
    print(f"directrank: {line}", file=sys.stderr)


def _short_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"directrank: warning: {' '.join(str(message).split())}", file=sys.stderr)

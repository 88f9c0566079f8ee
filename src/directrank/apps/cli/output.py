"""Printing: tables and remarks, drawn on a terminal and plain in a pipe."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING

from directrank.storage.names import printable
from directrank.storage.strict_json import as_plain
from directrank.timing import seconds_of_work, watching

if TYPE_CHECKING:
    from directrank.apps.evaluation import Gate
    from directrank.apps.experiments import Table

#: Columns that wrap keep at least so many characters.
NARROWEST = 24


def open_closed_streams() -> None:
    """Let output that the caller has closed (``>&-``) go nowhere.

    Otherwise the next file that is opened would take the number of standard output, and its prints.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.dup(number), "w" if number else "r", encoding="utf-8"))


class Remarks:
    """Whether remarks are printed: not with --quiet and --json."""

    silent = False


def remark(*lines: str) -> None:
    """Print remarks on stderr, apart from results."""
    for line in lines if not Remarks.silent else ():
        print(printable(line), file=sys.stderr, flush=True)


def data_check_lines(lines: Sequence[str], verbose: bool) -> list[str]:
    """Return the lines to print of a data check, whose gravest remark is the first."""
    if verbose or len(lines) < 2:
        return [f"data check: {line}" for line in lines]
    return [f"data check: {lines[0]} ({len(lines) - 1} more: --verbose)"]


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Name a long step while it runs: a spinner on a terminal, a line in a pipe.

    Yields a function that adds how far the step is, on a terminal.
    """
    if Remarks.silent or not sys.stderr.isatty():
        remark(f"{text} …")
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(text)) as status:
        yield lambda how_far: status.update(escape(f"{text}: {how_far}"))


@contextmanager
def training(text: str, limit: int | None) -> Iterator[None]:
    """Name a fit while it runs, with the last value of its monitor and the longest it may still take."""
    start, seen = seconds_of_work(), 0

    def show(measure: str, value: float) -> None:
        nonlocal seen
        if measure == "objective":
            return
        seen += 1
        of, remaining = "", ""
        if limit is not None and seen <= limit:
            longest = (limit - seen) * (seconds_of_work() - start) / seen
            of, remaining = f" of at most {limit}", f", at most {longest:.0f} s left"
        say(f"iteration {seen}{of}, {measure} {value:.4f}{remaining}")

    with spinner(text) as say, watching(show):
        yield


def print_json(value: object) -> None:
    """Print a value as JSON, indented."""
    # What the terminal cannot show is printed as JSON's own escape.
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(as_plain(value), indent=2, ensure_ascii=not unicode))


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: Sequence[int] = (-1,)) -> None:
    """Print rows of text under headings; columns wrap, in this order, to fit the terminal or 80 columns."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for place in wrap:
        too_wide = sum(widths) + 2 * (len(widths) - 1) - shutil.get_terminal_size().columns
        widths[place] = max(widths[place] - max(too_wide, 0), min(widths[place], NARROWEST))
    wrapped = (zip_longest(*map(_wrapped, line, widths), fillvalue="") for line in lines)
    texts = [cells for line in wrapped for cells in line]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    print("\n".join("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in texts))


def _wrapped(cell: str, width: int) -> list[str]:
    if len(cell) <= width:
        return [cell]
    indent = " " * (len(cell) - len(cell.lstrip()))
    return textwrap.wrap(
        cell, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def difference_cells(
    difference: float, low: float, high: float, p: Iterable[float], counts: Iterable[int] = ()
) -> list[str]:
    """Return the cells of a tested difference: it, its interval, counts of queries if any, and p-values."""
    from directrank.apps.evaluation.significance import p_value

    numbers = ["/".join(map(str, counts))] if counts else []
    values = [p_value(value).removeprefix("= ") for value in p]
    return [f"{difference:+.4f}", f"{low:+.4f} to {high:+.4f}", *numbers, *values]


def print_gate(gate: "Gate") -> None:
    """Print whether rankings are not worse than a baseline, measure by measure, and the verdict."""
    rows = [
        [
            margin.measure, margin.run, f"{margin.margin:g}", f"{margin.difference:+.4f}",
            f"{margin.low:+.4f} to {margin.high:+.4f}", margin.verdict,
        ]
        for margin in gate.margins
    ]  # fmt: skip
    print(f"\nnot worse than {gate.baseline} by more than the margin")
    print_columns(["measure", "run", "margin", "difference", "90 % interval", "verdict"], rows)
    print(gate.line())


def print_paragraph(text: str, first: str = "", further: str = "") -> None:
    """Print text that wraps at the width of the terminal, else at 80, with the indents of its lines."""
    width = shutil.get_terminal_size().columns
    print(textwrap.fill(text, width, initial_indent=first, subsequent_indent=further, break_on_hyphens=False))


def print_table(table: "Table") -> None:
    """Print a table of values with the best of each column marked."""
    if not sys.stdout.isatty():
        print(table.as_text())
        return
    from rich.console import Console
    from rich.text import Text

    text = Text(table.as_text())
    text.highlight_regex(r"[\d.]+\*", "bold green")
    Console().print(text, soft_wrap=True)

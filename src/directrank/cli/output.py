"""Printing: tables and remarks, drawn on a terminal and plain in a pipe."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

    from directrank.experiments.tables.layout import Table


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


def remark(text: str, *, quiet: bool = False) -> None:
    """Print a remark on stderr, apart from results."""
    from directrank.storage.names import printable

    if not quiet:
        print(printable(text), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print a value as JSON, indented."""
    from directrank.storage.strict_json import as_plain

    # What the terminal cannot show is printed as JSON's own escape.
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(as_plain(value), indent=2, ensure_ascii=not unicode))


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of text under headings; on a terminal as a table that wraps."""
    if not sys.stdout.isatty():
        from directrank.experiments.tables.formats import aligned

        print("\n".join(aligned([head, *rows])))
        return
    from rich.text import Text

    _draw(head, ([Text(cell) for cell in line] for line in rows), box=None, pad_edge=False)


def print_table(table: "Table") -> None:
    """Print a table of values with the best of each column marked."""
    from directrank.experiments.tables.formats import plain

    if not sys.stdout.isatty():
        print(plain(table))
        return
    from rich.box import SIMPLE_HEAD
    from rich.text import Text

    rows = []
    for label, cells in table.printed():
        styles = ("bold green" if each.best else "" for each in cells)
        texts = (f"{each.text} {each.mark}".rstrip() for each in cells)
        rows.append([Text(label), *map(Text, texts, styles)])
    look = {"title": Text(table.title), "caption": Text(table.caption), "box": SIMPLE_HEAD}
    _draw(["method", *table.columns], rows, numbers=True, **look)


def _draw(
    head: Sequence[str], rows: Iterable[Sequence["Text"]], *, numbers: bool = False, **look: Any
) -> None:
    """Draw a table on the terminal; `numbers` aligns all columns but the first to the right, unwrapped."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(**look)
    for place, title in enumerate(head):
        side = "right" if numbers and place else "left"
        drawn.add_column(Text(title), no_wrap=numbers or place == 0, justify=side)
    for line in rows:
        drawn.add_row(*line)
    Console().print(drawn)

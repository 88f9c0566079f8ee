"""What commands print: tables and remarks, drawn for a person or plain for a pipe."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.experiments.tables.layout import Table


def remark(text: str, *, quiet: bool = False) -> None:
    """Print a remark on stderr, apart from results."""
    if not quiet:
        print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON, indented."""
    from directrank.storage.strict_json import as_plain

    print(json.dumps(as_plain(value), indent=2, ensure_ascii=False))


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of text under headings; on a terminal as a table that wraps."""
    if not sys.stdout.isatty():
        widths = [max(len(line[place]) for line in [head, *rows]) for place in range(len(head))]
        for line in [head, *rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        return
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=None, pad_edge=False)
    for place, title in enumerate(head):
        table.add_column(title, no_wrap=place == 0)
    for line in rows:
        table.add_row(*(Text(cell) for cell in line))
    Console().print(table)


def print_table(table: "Table") -> None:
    """Print a table of values with the best of each column marked."""
    if not sys.stdout.isatty():
        from directrank.experiments.tables.layout import plain

        print(plain(table))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from directrank.experiments.tables.layout import raised

    drawn = RichTable(title=Text(table.title), caption=Text(table.caption), box=SIMPLE_HEAD)
    drawn.add_column("method", no_wrap=True)
    for column in table.columns:
        drawn.add_column(Text(column), justify="right", no_wrap=True)
    for row, (label, _) in enumerate(table.rows):
        cells = [
            Text(
                (table.shown(row, column) or "failed") + raised(table.mark(row, column)),
                style="bold green" if table.best(row, column) else "",
            )
            for column in range(len(table.columns))
        ]
        drawn.add_row(Text(f"{label} {table.letter(row)}".rstrip()), *cells)
    Console().print(drawn)

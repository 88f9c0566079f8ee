"""A run as a table in the terminal, and what changed since an earlier one."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.results import wording
from benchmarks.results.comparison import LIMIT, Change, Changes
from benchmarks.results.records import Record


def print_table(record: Record, console: Console) -> None:
    """Print a row for each case, in groups by topic."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("case", "ratio", "quartiles", "target"):
        table.add_column(name, no_wrap=name == "case", overflow="fold")
    topic = ""
    for row in record.rows:
        if topic and row.topic != topic:
            table.add_section()
        topic = row.topic
        style = "red" if row.missed or row.failed else "yellow" if row.noisy or row.problem else ""
        texts = (row.name, wording.ratio(row), wording.spread(row), wording.target(row))
        table.add_row(*(Text(text, style) for text in texts))
    console.print(table)
    for word, text in wording.machine_lines(record):
        console.print(Text(f"{word}: {text}", "dim"))


def print_changes(found: Changes, written: str, console: Console) -> None:
    """Print which ratios are worse, and better, than those of an earlier run."""
    percent = round(100 * (LIMIT - 1))
    console.print(Text(f"Compared with the run of {written}, on the same machine:", "bold"))
    for name, (old, new) in found.versions.items():
        console.print(Text(f"  {name} was {old}, is {new}"))
    for title, several, style in (("worse", found.worse, "red"), ("better", found.better, "green")):
        console.print(Text(f"  {title} by more than {percent} %: {len(several) or 'none'}"))
        for each in several:
            console.print(Text(f"    {change_text(each)}", style))


def change_text(change: Change) -> str:
    """Return a change in words."""
    old, new = (wording.digits(each.ratio or 0.0) for each in (change.old, change.row))
    return f"{change.row.name}: {old} → {new} times as {'fast' if change.row.faster else 'long'}"

"""Numbers and lists as text."""

from collections.abc import Sequence

from directrank.experiments.tables.layout import DECIMALS


def number(value: float) -> str:
    """Return a value with the decimals of the tables."""
    return f"{value:.{DECIMALS}f}"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.{DECIMALS}f}".replace("-", "−")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def enumerated(items: Sequence[str]) -> list[str]:
    """Return items with what stands between them: commas, and an "and" before the last."""
    pieces = []
    for place, item in enumerate(items):
        pieces += [("" if not place else " and " if place == len(items) - 1 else ", "), item]
    return pieces

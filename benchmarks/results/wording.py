"""Ratios, limits and machines in words, the same in the terminal, on the page and in the documents."""

from benchmarks.results.records import Record, Row


def digits(value: float) -> str:
    """Return a ratio with three digits, or two below 1."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(row: Row) -> str:
    """Return the ratio of a row in words; why there is none, if there is none."""
    if row.ratio is None:
        return f"{'failed' if row.failed else 'not measured'}: {row.problem}"
    much = "much" if row.clock == "memory" else "long"
    return f"{digits(row.ratio)} times as {'fast' if row.faster else much}"


def duration(seconds: float | None) -> str:
    """Return a time in s, ms or µs with three digits."""
    if seconds is None:
        return ""
    for unit, factor in (("s", 1), ("ms", 1000)):
        if seconds * factor >= 1.0:
            return f"{digits(seconds * factor)} {unit}"
    return f"{digits(1e6 * seconds)} µs"


def spread(row: Row) -> str:
    """Return the quartiles of the ratios of pairs."""
    if row.low is None or row.high is None:
        return ""
    return f"{digits(row.low)} to {digits(row.high)}{', noisy' if row.noisy else ''}"


def target(row: Row) -> str:
    """Return the limit of a row, and whether it was missed."""
    if row.target is None:
        return ""
    return f"{'≥' if row.faster else '≤'} {row.target:g}{' (missed)' if row.missed else ''}"


def machine_lines(record: Record) -> list[tuple[str, str]]:
    """Return what a record says of its machine, as pairs of a word and a text."""
    about = [(name, text) for name, text in record.machine.items() if text]
    return [
        *about,
        ("read pass", f"{record.read_pass:.1f} GB/s on one thread"),
        ("versions", ", ".join(f"{name} {text}" for name, text in record.versions.items())),
        ("sources", record.code),
        ("measured", f"{record.written}{', quickly: few repetitions' if record.quick else ''}"),
    ]

"""Documents, queries and judgements, and the list of what was wrong with them."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from directrank.errors import DataError
from directrank.storage.names import printable

#: Names that are listed of each kind of fault, and their longest form.
LISTED, SHOWN = 3, 40


def without_zeros(name: str) -> str:
    """Return the name of a document or a query; a number without leading zeros, as SMART's tools read it."""
    return name.lstrip("0") or "0" if name.isascii() and name.isdigit() else name


def known_name(name: str, known: Container[str]) -> str:
    """Return a name; without its leading zeros if it is known only so."""
    plain = without_zeros(name)
    return plain if name not in known and plain in known else name


def with_like_names(unknown: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return names that do not exist, each with one that is the same number, such as ``46 (0046 does)``."""
    unknown = list(unknown)
    numbers = {plain for each in unknown if (plain := without_zeros(each)).isdigit()}
    like = {plain: each for each in known if (plain := without_zeros(each)) in numbers} if numbers else {}
    plains = map(without_zeros, unknown)
    return [
        f"{name} ({like[plain]} does)" if plain in like else name
        for name, plain in zip(unknown, plains, strict=True)
    ]


class Document(NamedTuple):
    """A document: its name, its title, which may be empty, and the rest of its text."""

    docid: str
    title: str
    body: str


class Query(NamedTuple):
    """A query: its name and its text."""

    qid: str
    text: str


class Judgement(NamedTuple):
    """The grade of a document for a query."""

    qid: str
    docid: str
    grade: float


class Faults:
    """Counts what is wrong with a collection, by kind, and keeps the first names of each kind."""

    def __init__(self):
        self._count: Counter[str] = Counter()
        self._names: dict[str, list[str]] = {}

    def add(self, kind: str, name: str) -> None:
        """Count one fault, such as ``"documents without text"``, with the name of what has it."""
        self._count[kind] += 1
        names = self._names.setdefault(kind, [])
        if len(names) < LISTED:
            names.append(printable(name[:SHOWN]))

    def count(self, kind: str) -> int:
        """Return the number of faults of a kind."""
        return self._count[kind]

    def lines(self) -> list[str]:
        """Return one sentence for each kind, with its count and the first names."""
        return [
            f"{count} {kind}: {', '.join(self._names[kind])}{', …' * (count > LISTED)}"
            for kind, count in self._count.items()
        ]


def distinct_queries(queries: Iterable[Query], faults: Faults) -> list[Query]:
    """Return queries without those whose name an earlier one has, which are counted.

    Raises
    ------
    DataError
        If there is no query.
    """
    found: dict[str, Query] = {}
    for query in queries:
        if query.qid in found:
            faults.add("queries have the name of an earlier one and are left out", query.qid)
        else:
            found[query.qid] = query
    if not found:
        raise DataError("no query was found; expected at least one")
    return list(found.values())


def distinct_judgements(judgements: Iterable[Judgement], faults: Faults) -> Iterator[Judgement]:
    """Yield judgements without repeated ones, and with 0 in place of negative grades; both are counted."""
    seen = set()
    for each in judgements:
        pair = each.qid, each.docid
        if pair in seen:
            faults.add("judgements repeat an earlier one and are left out", f"{each.qid} {each.docid}")
            continue
        seen.add(pair)
        if each.grade < 0:
            faults.add("negative grades count as 0 (not relevant)", f"{each.qid} {each.docid}")
            each = each._replace(grade=0.0)
        yield each

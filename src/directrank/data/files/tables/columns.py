"""Which column of a table is the query, the relevance, the name of the document, or a feature."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from directrank.data.files.options import ReadOptions
from directrank.errors import DataError

#: Names that columns are guessed by, in lower case without punctuation, the most likely ones first.
GUESSES = {
    "qid": (
        "qid", "queryid", "query", "topicid", "topic", "searchid", "srchid", "sessionid", "groupid", "group",
    ),
    "label": (
        "relevance", "label", "rel", "grade", "relevancelabel", "relevancegrade", "judgment", "judgement",
        "target", "y",
    ),
    "docid": (
        "docid", "documentid", "doc", "document", "docno", "did", "itemid", "productid", "passageid", "pid",
        "url",
    ),
}  # fmt: skip
#: Row numbers that other tools store beside the data.
ROW_NUMBERS = re.compile(r"|Unnamed: 0|__index_level_\d+__")
SHOWN = 12


class Columns(NamedTuple):
    """The columns of a table by their role.

    Attributes
    ----------
    qid, label, docid : str or None
    features : tuple of str
    left_out : tuple of str
        Columns that are no features because they hold no numbers, or are row numbers.
    """

    qid: str
    label: str | None
    docid: str | None
    features: tuple[str, ...]
    left_out: tuple[str, ...]

    def line(self) -> str:
        """Return one line that says which column is what, and how to change it."""
        roles = [("qid", self.qid), ("label", self.label), ("docid", self.docid)]
        known = [f"{role}: {name}" for role, name in roles if name is not None]
        count = len(self.features)
        known += [f"{count} feature{'s' * (count > 1)}"] if count else []
        without = f" (left out: {listed(self.left_out)})" if self.left_out else ""
        flags = " ".join(f"--{role} …" for role in (*GUESSES, *(["features"] if count else [])))
        return f"{', '.join(known)}{without}; set {flags} to change"


def choose_columns(schema: Any, how: ReadOptions, where: str) -> Columns:
    """Return the role of each column of a table.

    Parameters
    ----------
    schema : schema of pyarrow
    how : ReadOptions
    where : str
        The file, for messages.

    Raises
    ------
    DataError
        If a column does not exist, is there twice, or has two roles, or no column is left for features.
    """
    names = schema.names
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"{where}: column {twice[0]!r} is there twice; rename one of them")
    roles = {role: _named(role, getattr(how, role), names, where) for role in GUESSES}
    if roles["qid"] is None or (how.labelled and roles["label"] is None):
        lacking = "qid" if roles["qid"] is None else "label"
        raise DataError(
            f"{where}: no column is called like a {lacking}; name it by --{lacking} (in Python, {lacking}=); "
            f"the columns are {listed(names)}"
        )
    taken = [name for name in roles.values() if name is not None]
    if twice := [name for name in taken if taken.count(name) > 1]:
        raise DataError(f"{where}: column {twice[0]!r} has two roles; --qid, --label and --docid differ")
    free = [name for name in names if name not in taken]
    if how.features is None:
        features = [name for name in free if _is_numeric(schema.field(name).type) and not _numbers_rows(name)]
    else:
        trained = "" if how.n_features is None else ", which the model was trained with"
        features = _selected(how.features, free, names, where, trained)
    if how.features is None and not features:
        raise DataError(
            f"{where}: no column of numbers is left for features; the columns are {listed(names)}"
        )
    if how.n_features not in (None, len(features)):
        raise DataError(
            f"{where}: {len(features)} columns of features, expected {how.n_features} as in training; "
            "name them by --features"
        )
    left_out = tuple(name for name in free if name not in features) if how.features is None else ()
    return Columns(roles["qid"], roles["label"], roles["docid"], tuple(features), left_out)


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list, with commas."""
    return ", ".join(map(str, names[:SHOWN])) + (f", … ({len(names)} in all)" if len(names) > SHOWN else "")


def known_column(name: str, names: Sequence[str], where: str, why: str = "") -> str:
    """Return the name of a column, or raise DataError that says why it is needed and names a similar one."""
    if name in names:
        return name
    similar = {each.lower(): each for each in reversed(names)}
    close = get_close_matches(name.lower(), similar, 1)
    hint = f"did you mean {similar[close[0]]!r}?" if close else f"the columns are {listed(names)}"
    raise DataError(f"{where}: no column {name!r}{why}; {hint}")


def _named(role: str, given: str | None, names: Sequence[str], where: str) -> str | None:
    if given is not None:
        return known_column(given, names, where)
    plain = {re.sub(r"[\W_]", "", name).lower(): name for name in reversed(names)}
    return next((plain[guess] for guess in GUESSES[role] if guess in plain), None)


def _selected(
    wanted: Iterable[str], free: Sequence[str], names: Sequence[str], where: str, why: str
) -> list[str]:
    """Return the columns that names and patterns select, each once, in the order of the names."""
    chosen: dict[str, None] = {}
    for each in wanted:
        pattern = each not in names and any(letter in each for letter in "*?[")
        found = [name for name in free if fnmatchcase(name, each)] if pattern else [each]
        if not found:
            raise DataError(f"{where}: no column matches {each!r}; the columns are {listed(free)}")
        if not pattern and known_column(each, names, where, why) not in free:
            raise DataError(f"{where}: column {each!r} is not a feature: it is qid, label or docid")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _numbers_rows(name: str) -> bool:
    return ROW_NUMBERS.fullmatch(name) is not None


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    of = kind.value_type if types.is_dictionary(kind) else kind
    kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(check(of) for check in kinds)

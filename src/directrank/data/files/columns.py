"""How a file of documents is read: which columns are what, and what a missing value means."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from os import PathLike
from typing import NamedTuple

import numpy as np

from directrank.data.cells import is_number
from directrank.data.files.opening import Digests
from directrank.errors import DataError

#: Rules for missing values, beside numbers: they stay missing, are refused, or are the least of the query.
MISSING_RULES = ("nan", "error", "query_min")
#: The rule that holds unless another is given.
MISSING = MISSING_RULES[0]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file of documents; LETOR text has no columns, and ignores their names.

    Attributes
    ----------
    qid, label, docid : str, optional
        Columns of queries, of grades and of names of documents; guessed by their names if not given.
    features : sequence of str, optional
        Columns of features, or patterns such as ``bm25*``; by default, all other columns.
    drop : sequence of str, default=()
        Columns to leave out, or patterns.
    categorical : sequence of str, optional
        Features that are categories, or patterns; by default those of a type of categories.
    missing : {"nan", "error", "query_min"} or float, default="nan"
        The meaning of a missing feature: NaN, an error, the least value within the query, or a number.
    labelled : bool, default=True
        Whether the documents have relevance.
    grouped : bool, default=True
        Whether a table must have a column of queries; without one, all documents are one query.
    n_features : int, optional
        The number of features; any other number is refused, and LETOR text is padded with zeros.
    first_feature : {0, 1}, optional
        The number of the first feature of LETOR text; 1 by default.
    counts_fit : bool, default=False
        Whether to refuse LETOR text with fewer features than `n_features` where `first_feature` is not given.
    qrels : path-like, optional
        TREC qrels: the file is a log of features, and `qid` and `docid` are keys of its JSON, with dots.
    log : str, optional
        The name of the log, where the plugins logged several; or the field where Solr logged features.
    verify : bool, default=True
        Whether the features of a store are compared with their digests, which reads all of them.
    digests : mapping of Path to str
        The SHA-256, in hex, that the bytes of these files must have: a comparison keeps its results under it.
    """

    qid: str | None = None
    label: str | None = None
    docid: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] | None = None
    missing: str | float = MISSING
    labelled: bool = True
    grouped: bool = True
    n_features: int | None = None
    first_feature: int | None = None
    counts_fit: bool = False
    qrels: str | PathLike | None = None
    log: str | None = None
    verify: bool = True
    digests: Digests = field(default_factory=dict)

    def null(self) -> np.float32:
        """Return what a missing value becomes: NaN, which ``query_min`` replaces; infinity if it is refused.

        Raises
        ------
        ValueError
            If `missing` is not one of the rules.
        """
        if isinstance(self.missing, str):
            if self.missing in MISSING_RULES:
                return np.float32(np.inf if self.missing == "error" else np.nan)
        elif math.isfinite(self.missing) and abs(self.missing) <= float(np.finfo(np.float32).max):
            return np.float32(self.missing)
        raise ValueError(f"missing={self.missing!r}, expected 'nan', 'error', 'query_min' or a finite number")


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
        "url", "corpusid",
    ),
}  # fmt: skip
#: What else the columns of judgments and runs are called: labels of a table without features, scores, ranks,
#: and the second column of qrels and runs, which says nothing of a document.
JUDGMENTS_ONLY = ("rating", "score", "gain")
SCORE_NAMES = ("score", "prediction", "predictedscore", "similarity")
RANK_NAMES = ("rank", "ranking", "position")
ITERATION_NAMES = ("iteration", "iter", "q0")
#: Every known name of a column but those that are in lines of data, too: Q0 in runs, and single letters.
KNOWN = frozenset(
    (*JUDGMENTS_ONLY, *SCORE_NAMES, *RANK_NAMES, *ITERATION_NAMES,
     *(name for names in GUESSES.values() for name in names))
) - {"q0", "y"}  # fmt: skip
#: Columns that are called by their numbers, without a name that tells a query or a label, are at least three.
LEAST_NUMBERED = 3
NO_LETTER = re.compile(r"[\W_]")
#: All of these but y, which is often a coordinate.
SECOND_LABELS = frozenset(GUESSES["label"]) - {"y"}
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
        Columns without a role: those to drop, and row numbers.
    categorical : tuple of str
        The features that are categories.
    """

    qid: str | None
    label: str | None
    docid: str | None
    features: tuple[str, ...]
    left_out: tuple[str, ...]
    categorical: tuple[str, ...] = ()

    def line(self) -> str:
        """Return one line that says which column is what, and how to change it."""
        roles = [("qid", self.qid), ("label", self.label), ("docid", self.docid)]
        known = [f"{role}: {name}" for role, name in roles if name is not None]
        if self.qid is None:
            known.insert(0, "no column of queries, so that all documents are one query")
        count = len(self.features)
        known += [f"{count} feature{'s' * (count > 1)}"] if count else []
        known += [f"categorical: {listed(self.categorical)}"] if self.categorical else []
        without = f" (left out: {listed(self.left_out)})" if self.left_out else ""
        flags = " ".join(f"--{role} …" for role in (*GUESSES, *(["features"] if count else [])))
        return f"{', '.join(known)}{without}; set {flags} to change"


def choose_columns(
    names: Sequence[str], how: ReadOptions, where: str, kinds: Collection[str] = ()
) -> Columns:
    """Return the role of each column of a table; `where` names the file in messages.

    `kinds` are columns of a type of categories, which are categorical unless the options say which are.

    Raises DataError if a column does not exist, is there twice, or has two roles, or no column is left for
    features.
    """
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DataError(f"{where}: column {twice[0]!r} is there twice; rename one of them")
    drop = dict.fromkeys(selected(how.drop, names, where))
    told = {role: getattr(how, role) for role in GUESSES}
    # What is a feature, dropped or has a role by its name has no other role by a guess, if others fit.
    taken = {*drop, *(how.features or ()), *told.values()}
    plain = plain_names(names)
    free = plain_names([name for name in names if name not in taken]) if taken - {None} else plain
    roles = {
        role: guessed(GUESSES[role], free) if name is None else known_column(name, names, where)
        for role, name in told.items()
    }
    if how.labelled and how.features is not None and not len(how.features):
        roles["label"] = roles["label"] or only_label(names, roles)
    for role, needed in (("qid", how.grouped), ("label", how.labelled)):
        roles[role] = roles[role] or (guessed(GUESSES[role], plain) if needed else None)
        if needed and roles[role] is None:
            raise DataError(
                f"{where}: no column is called like a {role}; name it by --{role} (in Python, {role}=); "
                f"the columns are {listed(names)}"
            )
    used = Counter(name for name in roles.values() if name is not None)
    if twice := [name for name, times in used.items() if times > 1]:
        raise DataError(f"{where}: column {twice[0]!r} has two roles; --qid, --label and --docid differ")
    if both := [name for name in used if name in drop]:
        raise DataError(f"{where}: column {both[0]!r} is to be dropped, and is qid, label or docid")
    if how.features is None:
        features = [
            name
            for name in names
            if name not in used and name not in drop and not ROW_NUMBERS.fullmatch(name)
        ]
    else:
        trained = "" if how.n_features is None else ", which the model was trained with"
        chosen = selected(how.features, names, where, used, trained)
        features = [name for name in chosen if name not in drop]
    if how.features is None and not features:
        raise DataError(f"{where}: no column is left for features; the columns are {listed(names)}")
    if how.n_features not in (None, len(features)):
        raise DataError(
            f"{where}: {len(features)} columns of features, expected {how.n_features} as in training; "
            "name them by --features, or leave others out by --drop"
        )
    categorical = kinds if how.categorical is None else selected(how.categorical, names, where, used)
    kept = {*used, *features}
    left_out = tuple(name for name in names if name not in kept) if how.features is None else tuple(drop)
    categorical = tuple(name for name in features if name in categorical)
    return Columns(**roles, features=tuple(features), left_out=left_out, categorical=categorical)


def _plain(name: str) -> str:
    return NO_LETTER.sub("", str(name)).lower()


def plain_names(names: Sequence[str]) -> dict[str, str]:
    """Return names by their forms in lower case without punctuation, the first one of equal forms."""
    return {_plain(name): name for name in reversed(names)}


def guessed(guesses: Sequence[str], names: Mapping[str, str]) -> str | None:
    """Return the column that has the first of these usual names, from `plain_names`, if there is one."""
    return next((names[guess] for guess in guesses if guess in names), None)


def only_label(names: Sequence[str], roles: Mapping[str, str | None]) -> str | None:
    """Return the grades of a table of judgments, such as a rating: its only column beside names."""
    others = [name for name in names if name not in roles.values() and _plain(name) not in ITERATION_NAMES]
    named = roles["qid"] is not None and roles["docid"] is not None
    return others[0] if named and len(others) == 1 and _plain(others[0]) in JUDGMENTS_ONLY else None


def has_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the first row of a table names its columns, and is not like the second row, which is data.

    It does where a name is known, no cell is a number, or a name is above numbers; and where columns are
    called by numbers in turn.
    """
    if any(_plain(cell) in KNOWN for cell in first):
        return True
    numeric = [is_number(cell) for cell in first]
    below = zip(first, numeric, second, strict=False)
    if not any(numeric) or any(cell.strip() and not number and is_number(cell_below)
                               for cell, number, cell_below in below):  # fmt: skip
        return True
    numbers = [cell for cell, number in zip(first, numeric, strict=True) if number]
    start = int(numbers[0]) if numbers[0].isdecimal() else -1
    return len(numbers) >= LEAST_NUMBERED and numbers == [
        str(number) for number in range(start, start + len(numbers))
    ]


def refuse_second_label(columns: Columns, how: ReadOptions, where: str) -> None:
    """Raise DataError if a feature is called as labels are: it would tell the answer."""
    for name in columns.features if how.features is None else ():
        if _plain(name) in SECOND_LABELS:
            raise DataError(
                f"{where}: column {name!r} would be a feature, and {columns.label!r} is the label; leave one "
                f"out by --drop {shlex.quote(name)} (in Python, drop=[{name!r}]), or name the features by "
                "--features"
            )


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


def selected(
    wanted: Iterable[str], names: Sequence[str], where: str, taken: Collection[str] = (), why: str = ""
) -> list[str]:
    """Return the columns that names and patterns select, each once, in the order of the names."""
    known, chosen = set(names), {}
    for each in wanted:
        if each not in known and any(letter in each for letter in "*?["):
            matching = [name for name in names if name not in taken and fnmatchcase(name, each)]
            if not matching:
                free = [name for name in names if name not in taken]
                raise DataError(f"{where}: no column matches {each!r}; the columns are {listed(free)}")
            chosen.update(dict.fromkeys(matching))
            continue
        if each not in known:
            known_column(each, names, where, why)
        if each in taken:
            raise DataError(f"{where}: column {each!r} is not a feature: it is qid, label or docid")
        chosen[each] = None
    return list(chosen)

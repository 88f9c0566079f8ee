"""Which column of a file of documents is what: as it is named, or by its name."""

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import NamedTuple

from directrank.data.cells import is_number
from directrank.data.reading_options import ReadOptions
from directrank.data.reading_record import ReadingRecord
from directrank.errors import DataError, listed

#: Names of ids of queries, in lower case without punctuation. They win over names that may mean a query.
IDS = ("qid", "queryid", "topicid", "searchid", "srchid")
#: Names of queries of recommenders, and what the grades of these are called besides names of labels.
USERS, LIKED = ("userid", "user"), ("rating", "interaction", "interactions")
#: Names that columns are guessed by, by their role, in lower case without punctuation, the most likely ones
#: first. Scores and ranks are of runs.
GUESSES = {
    "qid": (*IDS, "query", "topic", "sessionid", "groupid", "group", "querytext", *USERS),
    "label": (
        "relevance", "label", "rel", "grade", "relevancelabel", "relevancegrade", "judgment", "judgement",
        "target", "y",
    ),
    "docid": (
        # Of both docno is the name, and docid a number of an index.
        "docno", "docid", "documentid", "doc", "document", "did", "itemid", "productid", "passageid", "pid",
        "url", "corpusid", "movieid",
    ),
    "score": ("score", "prediction", "predictedscore", "similarity"),
    "rank": ("rank", "ranking", "position", "docposition"),
}  # fmt: skip
#: The roles of columns of documents.
ROLES = ("qid", "label", "docid")
#: What else the columns of judgments and runs are called: labels of a table without features, and the second
#: column of qrels and runs, which says nothing of a document.
JUDGMENTS_ONLY = ("rating", "score", "gain")
ITERATION_NAMES = ("iteration", "iter", "q0")
#: Every known name of a column but those that are in lines of data, too: Q0 in runs, and single letters.
KNOWN = frozenset(
    (*JUDGMENTS_ONLY, *LIKED, *ITERATION_NAMES, *(name for names in GUESSES.values() for name in names))
) - {"q0", "y"}
#: Columns that are called by their numbers, without a name that tells a query or a label, are at least three.
LEAST_NUMBERED = 3
NO_LETTER = re.compile(r"[\W_]")
#: Names that no feature has: all of labels but y, which is often a coordinate; and ids.
SECOND = {"label": frozenset(GUESSES["label"]) - {"y"}, "qid": frozenset(IDS)}
#: Words for what happens after a ranking is shown.
OUTCOMES = frozenset((
    "click", "clicks", "clicked", "purchase", "purchases", "purchased", "order", "orders", "cart",
    "carts", "booking", "bookings", "booked", "conversion", "conversions",
))  # fmt: skip
#: Words that are outcomes alone, or beside words of logs: `position`, `item_position`; not `sales_rank`.
PLACES = frozenset(("position", "positions", "rank", "ranks", "weight", "weights"))
WORDS_OF_LOGS = frozenset((
    "item", "doc", "document", "result", "results", "list", "display", "displayed", "shown", "search", "serp",
    "impression", "logged", "log", "original", "row", "sample", "example", "instance", "query",
))  # fmt: skip
#: Words of a name: `clickCount` and `click_count` have two.
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
#: Row numbers that other tools store beside the data.
ROW_NUMBERS = re.compile(r"|Unnamed: 0|__index_level_\d+__")


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
    outcomes : tuple of str
        The features that nobody named, and whose names are those of outcomes.
    not_qid : tuple of str
        Columns that may be the query by their names, too, where the query was guessed.
    training : str
        What is as it was in training, and what is not.
    """

    qid: str | None
    label: str | None
    docid: str | None
    features: tuple[str, ...]
    left_out: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    not_qid: tuple[str, ...] = ()
    training: str = ""

    def record(self, how: ReadOptions) -> ReadingRecord:
        """Return how a table was read, with its columns."""
        return replace(how.record(), qid=self.qid, label=self.label, docid=self.docid, drop=self.left_out)

    def line(self) -> str:
        """Return one line that says which column is what, and how to change it."""
        roles = [("qid", self.qid), ("label", self.label), ("docid", self.docid)]
        parts = [f"{role}: {name}" for role, name in roles if name is not None]
        if self.qid is None:
            parts.insert(0, "no column of queries, so that all documents are one query")
        elif self.not_qid:
            parts[0] += f" (not {listed(self.not_qid)})"
        count = len(self.features)
        parts += [f"{count} feature{'s' * (count > 1)}"] if count else []
        parts += [f"called like outcomes: {listed(self.outcomes)}"] if self.outcomes else []
        parts += [f"categorical: {listed(self.categorical)}"] if self.categorical else []
        without = f" (left out: {listed(self.left_out)})" if self.left_out else ""
        flags = " ".join(f"--{role} …" for role in (*ROLES, *(["features"] if count else [])))
        return "; ".join(filter(None, (", ".join(parts) + without, self.training, f"set {flags} to change")))


def choose_columns(
    names: Sequence[str], how: ReadOptions, where: str, kinds: Collection[str] = ()
) -> Columns:
    """Return the role of each column of a table; `where` names the file in messages.

    `kinds` are columns that are categories by their type: categorical, too, unless the options name none, or
    are those of a model.

    Raises DataError if a column does not exist, is there twice, or has two roles, or no column is left for
    features.
    """
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise DataError(f"{where}: column {twice[0]!r} is there twice; rename one of them")
    if how.features is None and how.stand_ins and set(how.stand_ins) <= set(names):
        how = replace(how, features=how.stand_ins)
    drop = dict.fromkeys(selected(how.drop, names, where))
    role_columns = {role: getattr(how, role) for role in ROLES}
    recalled = _recalled(how, {*names} - {*drop, *role_columns.values()})
    role_columns.update(recalled)
    # What is a feature, dropped or has a role by its name has no other role by a guess, if others fit.
    used_names = {
        *drop,
        *(how.features or ()),
        *role_columns.values(),
        *(how.training.drop if how.training else ()),
    }
    free = [name for name in names if name not in used_names]
    not_qid = () if role_columns["qid"] else _not_qid(guessed(GUESSES["qid"], free), free, how, where)
    judgments_only = how.labelled and how.features is not None and not len(how.features)
    of = " of judgments (--run-columns names those of runs)" if judgments_only else ""
    roles = {
        role: guessed(GUESSES[role], free) if name is None else known_column(name, names, where, of)
        for role, name in role_columns.items()
    }
    if roles["label"] is None and _letters_of(roles["qid"] or "") in USERS:
        roles["label"] = _liking(free, where)
    if judgments_only:
        roles["label"] = roles["label"] or _only_label(names, roles)
        if role_columns["label"] is None:
            _refuse_second_label(roles["label"], free, where)
    for role, needed in (("qid", how.grouped), ("label", how.labelled)):
        roles[role] = roles[role] or (guessed(GUESSES[role], names) if needed else None)
        if needed and roles[role] is None:
            if role == "label" and roles["docid"] is None and judgments_only:
                raise DataError(
                    f"{where}: no column is called like a docid or a label; name them by --docid and "
                    f"--label (in Python, docid= and label=); the columns are {listed(names)}"
                )
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
    categorical = set(kinds)
    if how.categorical is not None:
        categorical = set(selected(how.categorical, names, where, used))
        # A model names all; a user who names one column does not mean that others became numbers.
        categorical |= set(kinds) if categorical and how.n_features is None else set()
    present = {*used, *features}
    left_out = tuple(name for name in names if name not in present) if how.features is None else tuple(drop)
    categorical = tuple(name for name in features if name in categorical)
    if how.features is None:
        _refuse_second_role(features, roles, where)
    return Columns(
        **roles, features=tuple(features), left_out=left_out, categorical=categorical,
        outcomes=outcomes_among(features) if how.features is None else (), not_qid=not_qid,
        training=_as_in_training(how, recalled, roles["qid"]),
    )  # fmt: skip


def _recalled(how: ReadOptions, names: Collection[str]) -> dict[str, str]:
    """Return the columns of training for the roles without a named column, where the table has them."""
    columns = {role: getattr(how.training, role, None) for role in ROLES if getattr(how, role) is None}
    return {role: name for role, name in columns.items() if name is not None and name in names}


def _not_qid(qid: str | None, names: Sequence[str], how: ReadOptions, where: str) -> tuple[str, ...]:
    """Return the other columns that may be the query; raise DataError if two are called like its id."""
    rivals = [name for name in names if name != qid and _letters_of(name) in GUESSES["qid"]] if qid else []
    second = next((name for name in rivals if _letters_of(name) in IDS), None)
    if second is not None:
        drop = ", and leave the other out by --drop (drop=)" * (how.features is None)
        raise DataError(
            f"{where}: columns {qid!r} and {second!r} are both called like the id of a query; name the right "
            f"one by --qid (in Python, qid=){drop}"
        )
    return tuple(rivals)


def _liking(names: Sequence[str], where: str) -> str | None:
    """Return the grades of items by users, if there are some; raise DataError if two columns may be these."""
    both = [name for name in names if _letters_of(name) in LIKED]
    if len(both) > 1:
        raise _called_like_grades(both[0], both[1], where)
    return both[0] if both else None


def _called_like_grades(first: str, second: str, where: str) -> DataError:
    return DataError(
        f"{where}: columns {first!r} and {second!r} are both called like grades; name the right one by "
        "--label (in Python, label=)"
    )


def _refuse_second_label(label: str | None, names: Sequence[str], where: str) -> None:
    """Raise DataError if another column of a table without features is called like grades, too."""
    second = next((name for name in names if name != label and _letters_of(name) in SECOND["label"]), None)
    if label is not None and second is not None:
        raise _called_like_grades(label, second, where)


def _as_in_training(how: ReadOptions, recalled: Collection[str], qid: str | None) -> str:
    """Return what is as it was in training, and that the column of queries is another one."""
    before = how.training
    if before is None:
        return ""
    same = [*recalled, *how.rules_of_training]
    text = f"as in training: {', '.join(same)}" if same else ""
    gone = before.qid not in (None, qid) and how.qid is None
    return "; ".join(filter(None, (text, f"in training qid was {before.qid}" * gone)))


def outcomes_among(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are called like outcomes: clicks and purchases, and places in a shown ranking.

    `clicked`, `add_to_cart`, `item_position` and `weight` are, `pagerank`, `sales_rank` and `weight_kg` not.
    """
    return tuple(name for name in names if _is_outcome({word.lower() for word in WORD.findall(name)}))


def warn_of_outcomes(features: Sequence[str], where: str) -> None:
    """Warn, in the name of the caller of the caller, of features that are called like outcomes."""
    if names := list(outcomes_among(features)):
        warnings.warn(
            f"{where or 'data'}: called like outcomes, which nobody knows before a ranking is shown, and "
            f"read as features: {listed(names)}; leave them out by drop={names}, or name the features",
            UserWarning,
            stacklevel=3,
        )


def _is_outcome(words: Collection[str]) -> bool:
    return bool(OUTCOMES & {*words}) or bool(PLACES & {*words} and {*words} <= PLACES | WORDS_OF_LOGS)


def _letters_of(name: str) -> str:
    return NO_LETTER.sub("", str(name)).lower()


def guessed(guesses: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the column with the first of these usual names, in lower case without punctuation, if any."""
    by_form = {_letters_of(name): name for name in reversed(names)}
    return next((by_form[guess] for guess in guesses if guess in by_form), None)


def guessed_roles(names: Sequence[str]) -> dict[str, str | None]:
    """Return the columns of queries, documents and grades of a table of judgments, by their names."""
    roles = {role: guessed(GUESSES[role], names) for role in ROLES}
    return {**roles, "label": roles["label"] or _only_label(names, roles)}


def _only_label(names: Sequence[str], roles: Mapping[str, str | None]) -> str | None:
    """Return the grades of a table of judgments, such as a rating: its only column beside names."""
    rest = [
        name for name in names
        if name not in roles.values() and _letters_of(name) not in ITERATION_NAMES
        and not ROW_NUMBERS.fullmatch(name)
    ]  # fmt: skip
    has_ids = roles["qid"] is not None and roles["docid"] is not None
    return rest[0] if has_ids and len(rest) == 1 and _letters_of(rest[0]) in JUDGMENTS_ONLY else None


def has_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the first row of a table names its columns, and is not like the second row, which is data.

    It does where a name is known, no cell is a number, or a name is above numbers; and where columns are
    called by numbers in turn.
    """
    if any(_letters_of(cell) in KNOWN for cell in first):
        return True
    numeric = [is_number(cell) for cell in first]
    below = zip(first, numeric, second, strict=False)
    if not any(numeric) or any(
        cell.strip() and not number and is_number(cell_below) for cell, number, cell_below in below
    ):
        return True
    numbers = [cell for cell, number in zip(first, numeric, strict=True) if number]
    start = int(numbers[0]) if numbers[0].isdecimal() else -1
    return len(numbers) >= LEAST_NUMBERED and numbers == [
        str(number) for number in range(start, start + len(numbers))
    ]


def _refuse_second_role(features: Sequence[str], roles: Mapping[str, str | None], where: str) -> None:
    """Raise DataError if a feature is called like labels or ids of queries are: it would tell the answer."""
    for name in features:
        role = next((role for role, forms in SECOND.items() if _letters_of(name) in forms), None)
        if role is not None:
            chosen = f"{roles[role]!r} is the {'label' if role == 'label' else 'query'}"
            raise DataError(
                f"{where}: column {name!r} would be a feature, and {chosen}; leave one out by "
                f"--drop {shlex.quote(name)} (in Python, drop=[{name!r}]), or name the features by --features"
            )


def name_of_ids(name: str) -> bool:
    """Whether a column is called like ids of queries are."""
    return _letters_of(name) in SECOND["qid"]


def known_column(name: str, names: Sequence[str], where: str, why: str = "") -> str:
    """Return the name of a column, or raise DataError that says why it is needed and names a similar one."""
    if name in names:
        return name
    similar = {name.lower(): name for name in reversed(names)}
    close = get_close_matches(name.lower(), similar, 1, 0.7)  # brand and grade are .6 alike
    hint = f"did you mean {similar[close[0]]!r}?" if close else f"the columns are {listed(names)}"
    raise DataError(f"{where}: no column {name!r}{why}; {hint}")


def selected(
    wanted: Iterable[str], names: Sequence[str], where: str, taken: Collection[str] = (), why: str = ""
) -> list[str]:
    """Return the columns that names and patterns select, each once, in the order of the names."""
    remaining, chosen = set(names), {}
    for pattern in wanted:
        if pattern not in remaining and any(letter in pattern for letter in "*?["):
            matching = [name for name in names if name not in taken and fnmatchcase(name, pattern)]
            if not matching:
                free = [name for name in names if name not in taken]
                raise DataError(f"{where}: no column matches {pattern!r}; the columns are {listed(free)}")
            chosen.update(dict.fromkeys(matching))
            continue
        if pattern not in remaining:
            known_column(pattern, names, where, why)
        if pattern in taken:
            raise DataError(f"{where}: column {pattern!r} is not a feature: it is qid, label or docid")
        chosen[pattern] = None
    return list(chosen)

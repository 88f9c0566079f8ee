"""Feature logs of the LTR plugins of Elasticsearch and OpenSearch, and of Solr, joined with judgments.

The plugins (LoggingFetchSubPhase.java) list every feature of the set; one that does not match has no value,
or 0 by `missing_as_zero`. Without a plugin features are queries with names, whose scores are in
`matched_queries` where they match (`include_named_queries_score=true`). Solr (CSVFeatureLogger.java) leaves
out features that have their default value, unless `format=dense` is set.
"""

import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data.columns import ReadOptions, selected
from directrank.data.grouping import group_rows, text_array
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, DataFormatError, listed
from directrank.features.statistics import fill_query_minimum
from directrank.files.json_lines import json_lines
from directrank.files.opening import Allocator, rows_in_memory
from directrank.files.trec import Judgments, read_judgments
from directrank.files.words import named_queries, text_of
from directrank.storage.strict_json import JSONObject, Plain

#: Where the names of queries and documents are, unless it is told: keys, or paths of keys with dots.
QUERY, DOCUMENT = ("qid", "query_id", "responseHeader.params.qid"), ("_id", "id", "docid")
#: Solr's field of features, unless `fl` renames it; what the plugins may log beside features; and scores of
#: queries with names.
SOLR_FIELD, EXTRA, MATCHED = "[features]", "extra_logging", "matched_queries"
EXPECTED = "a hit, a document or a response on each line"
SHOWN = 40
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?|nan", re.ASCII | re.IGNORECASE)
_LARGEST = float(np.finfo(np.float32).max)


class _Logged(NamedTuple):
    """The features of a document: NaN without a value; `absent` is the value of those that are not listed."""

    line: int
    values: dict[str, float]
    absent: float


class FeatureLog:
    """The judged queries of a feature log in JSON: a hit, a document or a response with these on each line.

    One response may also take several lines. Documents without a judgment are not relevant, as in `evaluate`,
    and queries without one are left out. Warnings count these, and what is judged and not in the log. Raises
    DataError, with file, line, query and remedy, if the log or the judgments cannot be used.
    """

    def __init__(self, path: Path, how: ReadOptions):
        self.name, self._path, self._how, self._null = str(path), path, how, how.null()
        self.reading = how.record()
        judgments = read_judgments(Path(how.qrels or ""))
        for note in judgments.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        documents = self._documents()
        self._grades = self._grades_of_logged(documents, judgments)
        self._rows = {key: documents[key] for key in self._grades}
        self.qid = named_queries(dict.fromkeys(query for query, _ in self._rows))
        counts = Counter(name for row in self._rows.values() for name in row.values)
        dropped = selected(how.drop, list(counts), self.name)
        chosen = selected(how.features or counts, list(counts), self.name)
        self.features = tuple(name for name in chosen if name not in dropped)
        if not self.features:
            raise DataError(f"{path}: no feature is left; the log has {listed(list(counts)) or 'none'}")
        rarest = min(self.features, key=counts.__getitem__)
        n_rows = len(self._rows)
        if counts[rarest] < n_rows:
            self._warn(
                f"features are not in the log of every document, such as {rarest!r}, in {counts[rarest]} of "
                f"{n_rows}: where Solr leaves them out they are 0, its default value (log by format=dense if "
                "one has another), elsewhere missing"
            )

    def fill(self, features: Sequence[str], allocate: Allocator = rows_in_memory) -> QueryGroups:
        """Return the groups.

        Raises DataError if a value is missing and `missing` refuses it, or X would not fit in memory.
        """
        X = allocate(self.name, len(self._rows), len(features))
        rows = list(self._rows.items())
        qid = named_queries(query for query, _ in self._rows)
        docid = text_array([document for _, document in self._rows])
        queries, order = group_rows(np.array(list(self._grades.values())), qid, docid, name=self.name)
        n_missing = 0
        for target, place in zip(X, order.tolist(), strict=True):
            key, row = rows[place]
            target[:] = [row.values.get(name, row.absent) for name in features]
            missing = np.flatnonzero(np.isnan(target))
            if len(missing) and np.isinf(self._null):
                problem = f"feature {features[missing[0]]!r} has no value; log with missing_as_zero"
                raise self._error(row.line, f"{problem}, or set --missing", key)
            target[missing] = self._null
            n_missing += len(missing)
        if self._how.missing_rule == "query_min":
            fill_query_minimum(X, queries.indptr)
        if n_missing and self._how.missing_rule == "nan":
            self._warn(
                f"{n_missing} values are missing; linear models and RankLib's read them as 0 in the plugins: "
                "--missing 0 trains on that"
            )
        return QueryGroups.from_inner(
            X, queries, feature_names=features, name=self.name, reading=self.reading
        )

    def _warn(self, problem: str) -> None:
        warnings.warn(f"{self.name}: {problem}", UserWarning, stacklevel=3)

    def _error(self, line: int, problem: str, key: Sequence[str] = ()) -> DataFormatError:
        of = f"document {key[1]!r} of query {key[0]!r}: " if key else ""
        return DataFormatError(self.name, line, 1, of + problem)

    def _documents(self) -> dict[tuple[str, str], _Logged]:
        """Return the documents by the names of their query and of their own."""
        documents: dict[tuple[str, str], _Logged] = {}
        log, complete, n_without, n_again = self._how.log, (0, set()), 0, 0
        for line, record in json_lines(self._path, EXPECTED, self._how.digests):
            match record:
                case {"hits": {"hits": [*hits]}} | {"response": {"docs": [*hits]}}:
                    pass
                case [*hits]:
                    record = {}
                case _:
                    hits, record = [record], {}
            for hit in hits:
                if type(hit) is not dict:
                    raise self._error(
                        line, f"found {str(hit)[:SHOWN]!r}, expected a hit, a document or a response"
                    )
                if "action_name" in hit:
                    problem = "is an event of User Behavior Insights, expected a log of features"
                    remedy = "`directrank clicks check` and `fit --clicks` read events"
                    raise self._error(line, f"{problem}; {remedy}")
                query = self._name(line, "query", self._how.qid, QUERY, hit, record)
                key = query, self._name(line, "document", self._how.docid, DOCUMENT, hit, {})
                match hit:
                    case {"fields": {"_ltrlog": [dict(logs)]}}:
                        if log is None and len(logs) == 1:
                            log = next(iter(logs))
                        if self._how.log is None and logs.keys() != {log}:
                            raise self._error(
                                line, f"has the logs {listed(sorted(logs))}; name one by --log", key
                            )
                        content, absent = logs.get(log), math.nan
                    case {"matched_queries": dict(content)} if self._how.log in (None, MATCHED):
                        absent = math.nan
                    case _:
                        content, absent = hit.get(self._how.log or SOLR_FIELD), 0.0
                if content is None:
                    n_without += 1
                    continue
                row = _Logged(line, self._values(line, key, content), absent)
                if type(content) is list:  # of every feature of the set
                    complete = complete if complete[0] else (line, row.values.keys())
                    if differing := row.values.keys() ^ complete[1]:
                        has = "has" if min(differing) in row.values else "lacks"
                        problem = f"{has} feature {min(differing)!r}, unlike line {complete[0]}"
                        raise self._error(line, f"{problem}: convert one log for each feature set", key)
                if (first := documents.setdefault(key, row)) is row:
                    continue
                if repr(first.values) != repr(row.values):
                    problem = f"is in line {first.line} with other features; keep one of the lines"
                    raise self._error(line, problem, key)
                n_again += 1
        if not documents:
            places = f"fields._ltrlog, {self._how.log or SOLR_FIELD!r} or {MATCHED} (ask for scores)"
            raise DataError(f"{self.name}: no document has features in {places}; name the log by --log")
        if n_without:
            self._warn(f"left out {n_without} documents without a log of features")
        if n_again:
            self._warn(f"{n_again} documents are there again, with the same features")
        return documents

    def _grades_of_logged(
        self, documents: dict[tuple[str, str], _Logged], judgments: Judgments
    ) -> dict[tuple[str, str], float]:
        """Return the grades of the documents whose queries are judged."""
        judged = [judgments.query_name(query) for query in range(judgments.n_queries)]
        keys = [
            (judged[query], text_of(word))
            for query, word in zip(judgments.query.tolist(), judgments.documents.tolist(), strict=True)
        ]
        grades = dict(zip(keys, judgments.grades.tolist(), strict=True))
        logged = {query for query, _ in documents}
        shared = logged.intersection(judged)
        labels = {key: max(grades.get(key, 0.0), 0.0) for key in documents if key[0] in shared}
        n_judged = sum(key in grades for key in labels)
        if not n_judged:
            kind, place = ("documents", 1) if labels else ("queries", 0)
            raise DataError(
                f"{self.name}: none of its {kind} is in {judgments.source}: they are called "
                f"{next(iter(labels or documents))[place]!r} and {keys[0][place]!r}, for example; "
                f"name the place of these by --{('qid', 'docid')[place]}"
            )
        for number, what in (
            (len(logged - shared), f"queries are left out, which are not in {judgments.source}"),
            (len(labels) - n_judged, "documents have no judgment and count as not relevant"),
            (len(set(judged) - logged), f"queries of {judgments.source} are not in the log"),
            (
                sum(key not in labels for key in keys if key[0] in shared),
                f"judged documents of {judgments.source} are not in the log of their query",
            ),
        ):
            if number:
                self._warn(f"{number} {what}")
        return labels

    def _name(self, line: int, what: str, key: str | None, usual: Sequence[str], *places: JSONObject) -> str:
        """Return the name of a query or a document, which is at one place or the same at all of them."""
        paths = (key,) if key else usual
        names_found = [name for place in places for path in paths if (name := _at(place, path)) is not None]
        names = {str(name).encode("utf-8", "backslashreplace").decode() for name in names_found}
        option = "--qid" if what == "query" else "--docid"
        if len(names) == 1 and type(names_found[0]) in (int, str) and names_found[0] != "":
            return names.pop()
        problem = "is not text or a whole number" if len(names) == 1 else f"has {len(names) or 'no'} names"
        examples = f" ({listed(sorted(names))})" if names else ""
        remedy = f"expected one at {listed(paths)}; name its key by {option}, such as {option} {usual[-1]}"
        raise self._error(line, f"the {what} {problem}{examples}; {remedy}")

    def _values(self, line: int, key: tuple[str, str], content: Any) -> dict[str, float]:
        """Return the values of features in the plugins' list or mapping, or in Solr's text."""
        values: dict[str, float] = {}
        try:
            match content:
                case str():
                    pairs = [piece.rpartition("=")[::2] for piece in content.split(",") if content]
                case dict():
                    pairs = list(content.items())
                case _:
                    pairs = [(item["name"], item.get("value")) for item in content]
        except (TypeError, KeyError, AttributeError):
            problem = (
                f"has the log {str(content)[:SHOWN]!r}, expected name=value,… or a list of names and values"
            )
            raise self._error(line, problem, key) from None
        for name, value in pairs:
            if name == EXTRA and type(value) is dict:
                continue
            if type(name) is not str or not name or name in values:
                problem = f"feature {name!r} is there twice" if name else f"found {value!r} without a name"
                raise self._error(line, f"{problem}, expected a name and a value for each feature", key)
            text = "nan" if value is None else str(value)
            if type(value) is bool or not _NUMBER.fullmatch(text) or abs(float(text)) > _LARGEST:
                problem = f"feature {name!r} is {text[:SHOWN]!r}, expected a number that fits float32"
                raise self._error(line, f"{problem}; log it again", key)
            values[name] = float(text)
        return values


def _at(place: Any, path: str) -> Plain:
    """Return what is at a key, or at a path of keys with dots; Elasticsearch wraps single values in lists."""
    for key in (path,) if path in place else path.split("."):
        place = place.get(key) if type(place) is dict else None
    return place[0] if type(place) is list and len(place) == 1 else place

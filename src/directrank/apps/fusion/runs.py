"""Runs to be fused: their documents, and judgments of some queries."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.apps.evaluation import Judged, is_text, named_runs, run_from
from directrank.errors import DataError
from directrank.files import ReadOptions, Union, united


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs to be fused, with judgments of some queries.

    `notes` say how many queries are not judged, or not in a run; `qids` what callers call the queries, by
    their names as text, where runs come from no file.
    """

    names: tuple[str, ...]
    union: Union
    notes: list[str]
    qids: Mapping[str, Any]
    judgments: Judged | None = None

    @classmethod
    def read(
        cls,
        runs: object,
        judgments: object = None,
        *,
        how: ReadOptions | None = None,
        without_self: bool = False,
    ) -> "Runs":
        """Read runs, and judgments where there are some.

        Parameters
        ----------
        runs : sequence of rankings, or mapping of str to ranking
            TREC runs, tables of qid, docid and score, data frames with these columns, and mappings of qid to
            a mapping of docid to score; two or more.
        judgments : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade, optional
        how : ReadOptions, optional
            The columns of a table of judgments; guessed by their names by default.
        without_self : bool, default=False
            Leave out documents that are called like their query.

        Raises
        ------
        DataError
            If a file is malformed, or nothing of the runs is judged.
        ValueError
            If there are fewer than two runs, or one is given twice.
        """
        rankings = named_runs(runs)
        if len(rankings) < 2:
            raise ValueError(f"a fusion needs two runs or more, not {len(rankings)}")
        read = [run_from(name, run, how) for name, run in rankings.items()]
        read = [run.without_self() for run in read] if without_self else read
        notes = [note for run in read for note in run.notes]
        qids = {name: qid for run in reversed(read) for name, qid in run.qids.items()}
        if judgments is None:
            union = united(read)
            _warn_of_nothing_common(union, tuple(rankings))
            return cls(tuple(rankings), union, notes, qids)
        source = Judged(judgments, how, without_self=without_self)
        in_words = any(map(is_text, rankings.values())) and all(run.in_words for run in read)
        judged = source.judgments(words=in_words)
        union = united(read, judged)
        _warn_of_nothing_common(union, tuple(rankings))
        if not (union.judged & union.retrieved).any():
            docid: Any = union.queries.docid
            raise DataError(
                f"{source.source}: no document of the runs is judged; name queries and documents as the runs "
                f"do, such as {union.queries.qid[0]} and {docid[union.retrieved][0]}"
            )
        has_judged, has_held = (
            union.any_document(documents) for documents in (union.judged, union.retrieved)
        )
        counted = (
            (~has_judged, "have no judgment: they are fused, and nothing is learned from them"),
            (~has_held, "are judged, but in no run: they count 0"),
        )
        notes += [
            f"{which.sum()} of {len(which)} queries {text}, such as {union.queries.qid[which][0]}"
            for which, text in counted
            if which.any()
        ]
        return cls(tuple(rankings), union, [*source.notes, *notes], qids, source)

    @property
    def judged(self) -> Union:
        """The queries that have a judgment."""
        return self.union.chosen(self.union.any_document(self.union.judged))


def _warn_of_nothing_common(union: Union, names: Sequence[str]) -> None:
    """Warn if a run shares no query, or no document of a query, with the other runs."""
    documents = union.held
    queries = np.stack([union.any_document(some) for some in documents.T], axis=1)
    for kind, held, ids in (
        ("query", queries, union.queries.qid),
        ("document of a query", documents, np.asarray(union.queries.docid)),
    ):
        alone = [
            place
            for place in range(len(names))
            if not (held[:, place] & np.delete(held, place, axis=1).any(axis=1)).any()
        ]
        if alone:
            first = held[:, alone[0]]
            other = np.delete(held, alone[0], axis=1).any(axis=1)
            warnings.warn(
                f"{', '.join(names[place] for place in alone)}: no {kind} is in another run too, so that "
                f"nothing is fused: they are called {ids[first][0]} and {ids[other][0]}, for example; "
                "name queries and documents alike in all runs",
                UserWarning,
                stacklevel=4,
            )
            return

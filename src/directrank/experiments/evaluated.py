"""Several rankings of one collection, in the results of a comparison: values, tests, tables and page."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from directrank.contracts import Measure
from directrank.data.files import ReadOptions
from directrank.data.files.options import MISSING
from directrank.diagnostics.test_diagnostics import curve, ties
from directrank.experiments.cells import ranked, sizes
from directrank.experiments.identity import environment, shown
from directrank.experiments.options import (
    MEASURES,
    STANDARD,
    check_convention,
    check_correction,
    check_measures,
)
from directrank.experiments.results import FORMAT, Comparison, described_measures
from directrank.experiments.significance import significance
from directrank.experiments.submissions import Judged, Submission, named_runs
from directrank.measures import evaluate
from directrank.measures.naming.names import is_own

#: The one fold of runs: all queries.
ALL = "all queries"


def evaluate_runs(
    data: Any,
    runs: Any,
    *,
    measures: Sequence[str | Measure] = MEASURES,
    convention: str = STANDARD,
    baseline: str | None = None,
    correction: str = "holm",
    missing: str | float = MISSING,
    qid: str | None = None,
    label: str | None = None,
    docid: str | None = None,
    verify: bool = True,
    diagnostics: bool = True,
    command: Sequence[str] = (),
) -> Comparison:
    """Evaluate and compare rankings that were made elsewhere.

    Parameters
    ----------
    data : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade
        TREC qrels, or labelled documents. Of a mapping, grades below 0 count as 0.
    runs : ranking, sequence of rankings, or mapping of str to ranking
        TREC runs, tables of qid, docid and score, files of scores, data frames with these columns, and
        mappings of qid to a mapping of docid to score, in any mix; by name, also arrays of scores in row
        order. Scores without names of documents need labelled documents.
    measures : sequence of str or Measure
        The measures to report.
    convention : str, default="standard"
        The convention to report in.
    baseline : str, optional
        The name or path of a run. Only pairs with it are tested; all pairs by default.
    correction : {"holm", "bh"}, default="holm"
        The correction for testing many pairs.
    missing : {"nan", "error", "query_min"} or float, default="nan"
        The meaning of NULL in labelled documents.
    qid, label, docid : str, optional
        Columns of a table of labelled documents; guessed by their names by default.
    verify : bool, default=True
        Compare the features of a store with their digests.
    diagnostics : bool, default=True
        Whether to compute what only the page shows: curves and the effect of ties.
    command : sequence of str, optional
        The command line, recorded with the results.

    Returns
    -------
    Comparison
        Each run is a method. `directrank.write_report` makes its page.

    Raises
    ------
    DataError
        If a file is malformed, or a run does not fit the data.
    ValueError
        If a measure, convention, baseline or correction is unknown, or a run is given twice.

    Notes
    -----
    As in trec_eval, documents without a judgment are not relevant, documents that a run does not hold add
    nothing, and queries without a judgment are left out. A judged query that a run does not hold counts 0.
    ``summary["data_check"]["lines"]`` counts all of these.
    """
    named = named_runs(runs)
    options = {
        "measures": check_measures(measures),
        "convention": check_convention(convention),
    }
    check_correction(correction)
    against = None if baseline is None else _label_of(baseline, named)
    judged = Judged(
        data, ReadOptions(qid=qid, label=label, docid=docid, features=(), missing=missing, verify=verify)
    )
    submissions = [judged.submission(label, run) for label, run in named.items()]
    conventions = list(dict.fromkeys((convention, STANDARD)))
    cells = [_cell(each, options["measures"], conventions, judged, diagnostics) for each in submissions]
    result = Comparison(_summary(judged, submissions, options, command), cells)
    result.summary["significance"] = {
        each: significance(result, each, baseline=against, correction=correction) for each in conventions
    }
    return result


def _label_of(baseline: str, named: dict[str, Any]) -> str:
    """Return the label of a baseline that is given as a label or as a path."""
    labels = [label for label, run in named.items() if str(baseline) in (label, str(run))]
    if not labels:
        raise ValueError(f"{baseline} is not one of the runs: {', '.join(named)}")
    return labels[0]


def _cell(
    one: Submission,
    measures: Sequence[Measure],
    conventions: Sequence[str],
    judged: Judged,
    diagnostics: bool,
) -> dict[str, Any]:
    """Return the record of a run, as that of a method on a fold."""
    record: dict[str, Any] = {"values": {}, "per_query": {}, "computed": {}}
    for convention in conventions:
        found = evaluate(
            one.queries, one.scores, measures=measures, convention=convention, per_query=True,
            retrieved=one.retrieved,
        ).to_dict()  # fmt: skip
        record["values"][convention] = {"test": found["measures"]}
        for what in ("per_query", "computed"):
            record[what][convention] = found[what]
        record["qid"] = found["qid"]
    if diagnostics:
        record["curve"] = {each: curve(one.queries, one.scores, each, one.retrieved) for each in conventions}
        record["ties"] = ties(one.queries, one.scores, measures, one.retrieved)
    record["ranked"] = ranked(one.queries, one.scores)
    parts = {"test": sizes(one.queries.n_queries, judged.relevance)}
    return {**record, "method": one.label, "fold": ALL, "measure": None, "parts": parts, "warnings": []}


def _summary(
    judged: Judged, submissions: Sequence[Submission], options: dict[str, Any], command: Sequence[str]
) -> dict[str, Any]:
    first = submissions[0].queries
    notes = [*judged.notes, *(note for each in submissions for note in each.notes)]
    return {
        "format": FORMAT,
        "dataset": Path(judged.source).name or judged.source,
        "select_by": None,
        **shown(options),
        **described_measures({each.name: each for each in options["measures"] if is_own(each)}),
        "methods": [
            {"label": each.label, "name": each.label, "measure": None, "summary": each.path, "paper": "",
             "grid": {}}
            for each in submissions
        ],
        "folds": [{"name": ALL, "sha256": _digests(judged), "files": {"test": [judged.source]}}],
        "data_check": {
            "lines": notes,
            "of": judged.source,
            "n_queries": first.n_queries,
            "n_docs": len(judged.relevance),
        },
        "environment": environment(),
        "command": list(command),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip


def _digests(judged: Judged) -> dict[str, str]:
    path = Path(judged.source)
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return {"test": hashlib.file_digest(file, "sha256").hexdigest()}

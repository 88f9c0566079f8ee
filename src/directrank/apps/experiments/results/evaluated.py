"""Several rankings of one collection, in the results of a comparison: values, tests, tables and page."""

import os
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from directrank.apps.evaluation import Judged, Submission, definition_notes, named_runs
from directrank.apps.experiments.options import (
    MEASURES,
    STANDARD,
    check_convention,
    check_correction,
    check_family,
    check_measures,
)
from directrank.apps.experiments.results.comparison import FORMAT, Comparison
from directrank.apps.experiments.results.measured import Scored, measured_sets, sizes
from directrank.apps.experiments.results.significance import with_significance
from directrank.apps.experiments.store.identity import environment
from directrank.apps.experiments.store.records import (
    DataCheck,
    Described,
    DescribedMeasure,
    FoldFiles,
    Ranking,
    Results,
)
from directrank.contracts import Measure
from directrank.files import ReadOptions, input_digest, refuse_absent_columns
from directrank.files.runs import EQUAL
from directrank.measures import is_own

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
    family: str = "measure",
    how: ReadOptions | None = None,
    without_self: bool = False,
    diagnostics: bool = True,
    command: Sequence[str] = (),
) -> Comparison:
    """Evaluate and compare rankings that were made elsewhere.

    Parameters
    ----------
    data : path, QueryGroups, data frame, or mapping of qid to mapping of docid to grade
        TREC qrels, or labelled documents. In qrels and mappings, grades below 0 are of documents that were
        pooled and not judged.
    runs : ranking, sequence of rankings, or mapping of str to ranking
        TREC runs, tables of qid, docid and score or rank, files of scores, data frames with these columns,
        and mappings of qid to a mapping of docid to score, in any mix; by name, also arrays of scores in row
        order. Scores without names of documents need labelled documents.
    measures : sequence of str or Measure
        The measures to report.
    convention : str, default="standard"
        The convention to report in.
    baseline : str, optional
        The name of a run, or a path, which need not be one of `runs`. Only pairs with it are tested; all
        pairs by default.
    correction : {"holm", "bh"}, default="holm"
        The correction for testing many pairs.
    family : {"measure", "all"}, default="measure"
        The tests that it covers: the pairs of each measure, or those of all measures.
    how : ReadOptions, optional
        Columns of tables, chunks, and grades in place of others; columns are guessed by their names by
        default. ``ReadOptions(training=ranker.reading_)`` reads columns as a ranker's training data.
    without_self : bool, default=False
        Leave out documents that are called like their query, of runs and of judgments, as collections need
        whose queries are documents (ArguAna, Quora).
    diagnostics : bool, default=True
        Whether to compute what only the page shows: curves and the effect of ties.
    command : sequence of str, optional
        The command line, recorded with the results.

    Returns
    -------
    Comparison
        Each run is a method. `directrank.write_report` makes its page. The values of each query, for
        `directrank.paired_test`, are ``result.of(run)[0].per_query[convention][measure]``, where `measure` is
        a name of ``result.measures``.

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
    rankings, reported = named_runs(runs), check_measures(measures)
    if not rankings:
        raise ValueError("no run is given; expected one or several")
    conventions = list(dict.fromkeys((check_convention(convention), STANDARD)))
    check_correction(correction)
    check_family(family)
    if baseline is not None and not _labels_of(baseline, rankings) and Path(baseline).is_file():
        rankings[baseline] = Path(baseline)
    against = None if baseline is None else _label_of(baseline, rankings)
    refuse_absent_columns([data, *rankings.values()], how or ReadOptions())
    judged = Judged(data, how, without_self=without_self)
    submissions = [judged.submission(label, run) for label, run in rankings.items()]
    for submission in submissions if not command else ():  # The command line prints all notes.
        for note in submission.score_notes:
            if EQUAL in note:
                warnings.warn(note, UserWarning, stacklevel=2)
    results = _results(judged, submissions, reported, conventions, diagnostics, command)
    return with_significance(Comparison(results), against, correction, family)


def evaluate_submissions(
    judged: Judged, submissions: Sequence[Submission], measure: Measure, baseline: str
) -> Comparison:
    """Compare rankings of the same judged queries with one of them, by one measure.

    Parameters
    ----------
    judged : Judged
    submissions : sequence of Submission
    measure : Measure
    baseline : str
        The label of the ranking that the others are tested against.

    Returns
    -------
    Comparison
    """
    return with_significance(
        Comparison(_results(judged, submissions, [measure], [STANDARD])), baseline, "holm"
    )


def _results(
    judged: Judged,
    submissions: Sequence[Submission],
    measures: Sequence[Measure],
    conventions: Sequence[str],
    diagnostics: bool = True,
    command: Sequence[str] = (),
) -> Results:
    """Return the values of rankings, without tests of their differences."""

    def ranking(one: Submission) -> Ranking:
        scored = {"test": Scored(one.queries, one.scores, one.retrieved)}
        measured = measured_sets(scored, measures, conventions, diagnostics=diagnostics)
        parts = {"test": sizes(one.queries.n_queries, judged.relevance)}
        return Ranking(**vars(measured), fold=ALL, method=one.label, measure=None, parts=parts, warnings=[])

    path = Path(judged.source)
    digests = {"test": input_digest(path)} if path.is_file() else {}
    definitions = definition_notes(measures, conventions[0], judged, submissions)
    notes = chain(judged.notes, *(submission.notes for submission in submissions), definitions)
    return Results(
        format=FORMAT,
        dataset=Path(judged.source).name or judged.source,
        select_by=None,
        measures=[measure.name for measure in measures],
        convention=conventions[0],
        methods=[Described.untrained(submission.label, submission.origin) for submission in submissions],
        folds=[FoldFiles(name=ALL, sha256=digests, files={"test": [judged.source]})],
        data_check=DataCheck(
            lines=[*dict.fromkeys(notes)],
            of=judged.source,
            n_queries=submissions[0].queries.n_queries,
            n_docs=len(judged.relevance),
        ),
        environment=environment(),
        command=list(command),
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        cells=list(map(ranking, submissions)),
        own_measures={measure.name: DescribedMeasure.of(measure) for measure in measures if is_own(measure)},
    )


def _labels_of(baseline: str, rankings: dict[str, Any]) -> list[str]:
    return [
        label
        for label, run in rankings.items()
        if str(baseline) == label or (isinstance(run, str | os.PathLike) and str(baseline) == str(run))
    ]


def _label_of(baseline: str, rankings: dict[str, Any]) -> str:
    """Return the label of a baseline that is given as a label or as a path."""
    labels = _labels_of(baseline, rankings)
    if not labels:
        raise ValueError(f"{baseline} is not one of the runs: {', '.join(rankings)}")
    return labels[0]

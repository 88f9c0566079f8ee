"""`directrank cutoff`: where to stop, with a promise."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.options import JSON, Reading, Seed, Target
from directrank.apps.cli.output import print_columns, print_json, print_paragraph, remark
from directrank.apps.cli.settings import check_file, read_documents
from directrank.errors import DataError, ModelFormatError

if TYPE_CHECKING:
    import numpy as np

    from directrank.data import QueryGroups


def cutoff(
    ranking: Path,
    *,
    qrels: Path,
    miss: float = 0.1,
    nine_in_ten: bool | None = None,
    axis: str | None = None,
    false_answers: float | None = None,
    rel: float = 1.0,
    out: Target | None = None,
    to: str | None = None,
    seed: Seed = 0,
    reading: Reading,
    json: JSON = False,
) -> None:
    """Find the rank or score below which results are dropped, with a promise about relevant ones.

    `rank`, `fuse` and `evaluate` apply it by --cutoff.

    MODEL|RUN: A ranker, which scores the documents of --qrels; or a run or table of scores.
    --qrels FILE: Judgments of queries that the ranker was not trained on: qrels, or labelled documents.
    --miss SHARE: The share of a query's judged relevant documents that may be dropped.
    --nine-in-ten/--in-the-mean: Promise it of the mean of all queries, which is wrong for one calibration set
        in ten; or in expectation for a new query. [default: nine in ten from 50 queries on]
    --axis NAME: What is cut: rank, standardised (scores in each query), gap (to the query's best) or score.
        [default: rank; from 200 queries on the one that keeps fewest]
    --false-answers SHARE: Also refuse queries by their largest score, so that at most this share of those
        that nothing answers is answered.
    --rel GRADE: The least grade of a relevant document.
    -o --out FILE: The file for the cut-off, such as cutoff.json.
    --to ENGINE: Print its parameters for elasticsearch, opensearch, solr or vespa.
    """
    from directrank.apps.cutoff import Cutoff
    from directrank.files import input_digest

    if out is not None:
        check_file(out, "--out", ranking, qrels, printing=json)
    promise = None if nine_in_ten is None else "nine in ten" if nine_in_ten else "mean"
    settings: Any = {"axis": axis, "rel": rel, "random_state": seed}
    with usage():
        cut = Cutoff(miss, promise=promise, false_answers=false_answers, **settings)
    scores, relevance, qid, is_model = _scored(ranking, qrels, reading)
    with usage():
        cut.fit(scores, relevance, qid, ranking=input_digest(ranking) if is_model else "")
    flag, promise = (
        ("in-the-mean", "mean") if cut.promise_ == "nine in ten" else ("nine-in-ten", "nine in ten")
    )
    other = Cutoff(miss, promise=promise, **settings).fit(scores, relevance, qid)
    with usage("" if to is None else f"--to {to}"):
        parameters = None if to is None else cut.engine(to)
    if out is not None:
        cut.save(out)
        remark(f"Written: {out}")
    if json:
        facts = {
            "miss": cut.miss, "promise": cut.promise_, "axis": cut.axis_, "threshold": cut.threshold_,
            "queries": cut.n_queries_, "kept": cut.kept_, "missed": cut.missed_, "summary": cut.summary(),
            "other": {"promise": promise, "axis": other.axis_, "threshold": other.threshold_},
        }  # fmt: skip
        print_json(facts if parameters is None else {**facts, "engine": parameters})
    elif parameters is not None:
        print_json(parameters)
        remark(*cut.summary())
    else:
        for line in (*cut.summary(), f"with --{flag}: {other.message_}"):
            print_paragraph(line)


def _scored(
    ranking: Path, qrels: Path, reading: Any
) -> tuple["np.ndarray", "np.ndarray", "np.ndarray", bool]:
    """Return scores, relevance and qid of judged documents, and whether a model scored them."""
    from directrank.files.forms import SCORES, form_of
    from directrank.models import load

    try:
        form = form_of(ranking)
    except DataError:
        form = None
    ranker = None
    if form in (None, SCORES):
        try:
            ranker = load(ranking)
        except ModelFormatError:
            if form is None:
                raise
    if ranker is not None:
        groups = read_documents(qrels, ranker.read_options(reading))
        return ranker.predict(groups), groups.relevance, groups.qid, True
    return *_judged_scores(qrels, ranking, reading), False


def _judged_scores(data: Path, run: Path, how: Any) -> tuple["np.ndarray", "np.ndarray", "np.ndarray"]:
    """Return scores, relevance and qid of the documents of a run."""
    import numpy as np

    from directrank.apps.evaluation import Judged

    one = Judged(data, how).submission(run.name, run)
    remark(*(f"note: {note}" for note in one.notes))
    queries = one.queries
    relevance, query = np.empty(queries.n_docs), np.empty(queries.n_docs, np.int64)
    relevance[queries.row], query[queries.row] = queries.relevance, queries.query
    retrieved = slice(None) if one.retrieved is None else one.retrieved
    return one.scores[retrieved], relevance[retrieved], queries.qid[query[retrieved]]


def evaluate_cutoff(path: Path, data: Path, runs: Sequence[Path], how: Any, *, json: bool) -> None:
    """Print what a cut-off keeps and misses of runs on judged queries."""
    from directrank.apps.cutoff import Cutoff

    cut = Cutoff.load(path)
    outcomes = {run.name: cut.evaluate(*_judged_scores(data, run, how)) for run in runs}
    if empty := [name for name, outcome in outcomes.items() if not outcome.n_queries]:
        raise DataError(f"{data}: no query of {empty[0]} has a document of grade {cut.rel:g} or more")
    if json:
        print_json({"miss": cut.miss, **{name: outcome._asdict() for name, outcome in outcomes.items()}})
        return
    print_columns(
        ["run", "queries", "documents kept", "missed", "95 % interval", "promised"],
        [
            [
                name, str(outcome.n_queries), f"{outcome.kept:.1%}", f"{outcome.missed:.4f}",
                f"{outcome.low:.4f} to {outcome.high:.4f}", f"{cut.miss:g}",
            ]
            for name, outcome in outcomes.items()
        ],
    )  # fmt: skip


def cut_ranking(
    path: Path, model: Path | None, groups: "QueryGroups", scores: "np.ndarray"
) -> tuple["QueryGroups", "np.ndarray"]:
    """Return the documents that a cut-off keeps, and their scores; remarks say how many, and what is odd.

    Raises UsageError if the cut-off is of another model.
    """
    import numpy as np

    from directrank.apps.cutoff import Cutoff
    from directrank.data import QueryGroups
    from directrank.files import document_names, input_digest

    cut = Cutoff.load(path)
    if cut.ranking_ and (model is None or cut.ranking_ != input_digest(model)):
        other = "a model, not for runs" if model is None else f"another model than {model}"
        raise UsageError(f"--cutoff {path}: it was calibrated for {other}; calibrate again")
    mask, answered = cut.keep(scores, groups.qid), cut.answers(scores, groups.qid)
    rows = np.flatnonzero(mask & answered)
    remark(f"cut-off: {len(rows)} of {groups.n_docs} documents are kept ({len(rows) / groups.n_docs:.1%})")
    if not answered.all():
        refused = len({*groups.qid[~answered].tolist()})
        remark(f"cut-off: {refused} of {groups.n_queries} queries are refused: nothing may answer them")
    if cut.is_stale(scores, groups.qid):
        remark(
            "warning: the best scores of these queries are not like those of the calibration: calibrate again"
        )
    X = np.empty((len(rows), 0), np.float32)
    names = document_names(groups)[rows]
    return QueryGroups(X, None, groups.qid[rows], docid=names, name=groups.name), scores[rows]

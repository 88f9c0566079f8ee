"""`directrank index`, `features` and `search`."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.options import (
    JSON,
    Force,
    Grades,
    Quiet,
    Seed,
    Target,
    assignments,
    names,
)
from directrank.apps.cli.output import print_json, remark
from directrank.apps.cli.settings import check_file, check_folder
from directrank.storage.atomic import write_atomically
from directrank.storage.names import printable
from directrank.storage.strict_json import JSONObject

if TYPE_CHECKING:
    from directrank.apps.text import CollectionOptions, Hit, Piece, Searcher

Encoding = Annotated[
    str | None,
    ("--encoding NAME", "Encoding of the text.  [default: UTF-8, or cp1252 where it is not UTF-8]"),
]
Columns = Annotated[
    list[str] | None,
    (
        "--columns ROLE=NAME",
        "Column of a table, or key of JSON lines, for docid, title, body, qid, text or grade; may be "
        "repeated.  [default: by their names]",
    ),
]


def index(
    collection: Path,
    *,
    out: Target = Path("index"),
    form: Annotated[
        str | None, ("--format NAME", "trec, smart, jsonl or table.  [default: by name and content]")
    ] = None,
    encoding: Encoding = None,
    columns: Columns = None,
    title_ends: str | None = None,
    stemmer: str = "english",
    stopwords: str = "english-plus",
    force: Force = False,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Index a collection of texts.

    Words are lower-cased and stemmed. The index holds the words, titles and texts of all documents.

    COLLECTION: Documents: TREC, SMART, JSON lines (BEIR), CSV or Parquet; a file or a folder.
    -o --out FOLDER: The index; an old one is replaced.
    --title-ends TEXT: Where documents have no title: the text before this is the title.
    --stemmer NAME: Stemmer of Snowball, such as english or german; or none.
    --stopwords NAME: Words to leave out: english, english-plus, german, …; or none.
    """
    from directrank.apps.cli.output import spinner
    from directrank.apps.text import Analysis, build_index

    with usage():
        analysis = Analysis(stemmer, stopwords)
    options = _options(encoding, columns, form=form, title_ends=title_ends)
    check_folder(out, force=force)
    with spinner(f"indexing {collection}"), usage(f"--format {form}"):
        lines = build_index(collection, out, analysis=analysis, options=options, force=force)
    _print_lines(lines, json=json, index=str(out))


def features(
    index: Path,
    *,
    queries: Path,
    qrels: Path,
    out: Target = Path("features"),
    wanted: Annotated[
        Sequence[str],
        (
            "--features NAMES",
            "letor, xu2008, xu2008-printed or all, names such as 'body.bm25(k1=0.9,b=0.4)', and rrf, combsum "
            "or combmnz of the rankings that give candidates; with commas.",
        ),
    ] = ("letor",),
    candidates: str = "bm25:200",
    kfold: int | None = None,
    scores: list[str] | None = None,
    embeddings: list[str] | None = None,
    grades: Grades = MappingProxyType({}),
    topic_fields: Sequence[str] = ("title",),
    form: Annotated[
        str, ("--format NAME", "parquet, csv, or letor, which has no names of features.")
    ] = "parquet",
    encoding: Encoding = None,
    columns: Columns = None,
    seed: Seed = 0,
    force: Force = False,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Compute features of queries and documents for `compare` and `fit`.

    Writes all queries to one file, and folds if asked for.

    INDEX: An index that `directrank index` wrote.
    --queries FILE: TREC topics, SMART queries, JSON lines, or a table of qid and text.
    --qrels FILE: TREC qrels, SMART's form, or a table of qid, docid and grade.
    -o --out FOLDER: Folder for the features.
    --candidates RULE: Documents of each query, the union of bm25:200, run:FILE:200 and judged, with commas.
    --kfold N: Also write N random folds (uses --seed).
    --scores NAME=FILE: Scores of others as a feature: a TREC run, or a table of qid, docid and score; may be
        repeated.
    --embeddings NAME=DOCUMENTS,QUERIES: Inner products as a feature: two Parquet files, each with a column of
        names and one of lists of numbers; a third word, cosine, divides by the lengths; may be repeated.
    --topic-fields NAMES: Parts of TREC topics: title, desc, narr, with commas.
    """
    from directrank.apps.cli.output import spinner
    from directrank.apps.text import make_features, open_index, write_features

    options = _options(encoding, columns, topic_fields=tuple(topic_fields), grades=grades)
    runs = {name: Path(path) for name, path in assignments("--scores", scores or (), str).items()}
    vectors = assignments("--embeddings", embeddings or (), names)
    check_folder(out, force=force)
    with usage():
        with spinner(f"computing features of {queries}"):
            features_of_text = make_features(
                open_index(index), queries, qrels, features=wanted, candidates=candidates,
                scores=runs, embeddings=vectors, options=options,
            )  # fmt: skip
        lines = features_of_text.lines + write_features(
            features_of_text, out, kfold=kfold, seed=seed, form=form, force=force
        )
    _print_lines(lines, json=json, out=str(out), features=features_of_text.groups.feature_names)


def search(
    index: Path,
    model: Path | None = None,
    query: str | None = None,
    *,
    method: str = "auto",
    n: Annotated[int, ("-n --number N", "Documents to show.")] = 10,
    embed: list[str] | None = None,
    depth: int = 200,
    serve: bool = False,
    port: int = 8765,
    run: Target | None = None,
    queries: Path | None = None,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Search an index by a trained ranker, and show what each feature adds to a score.

    INDEX: An index that `directrank index` wrote.
    MODEL: A model of `fit`, trained on features of the index; or the folder of `features`.
    QUERY: The text to search for.
    --method NAME: Method to train on all queries of a folder of features, once.
    --embed NAME=DOCUMENTS,QUERIES: Vectors of a feature of --embeddings: its file of documents, and
        MODULE:FUNCTION, which makes a vector per text of a list of texts, or a Parquet file of texts and
        vectors; may be repeated.
    --depth N: Candidates that are ranked, as many as in training.
    --serve: Open a page with a search box on this machine, until Ctrl-C.
    --port N: Port of the page; 0 for a free one.
    --run FILE: Write BM25's run for a query file in place of a search, such as for `fuse`: the first --depth
        documents of each query; the ending chooses the format, or TREC. Needs no model.
    --queries FILE: Queries of --run: TREC topics, SMART, JSON lines, or a table of qid and text.
    """
    from directrank.apps.text import Searcher, open_index
    from directrank.models import load

    if n < 1 or depth < 1:
        raise UsageError(f"-n {n} and --depth {depth}: expected at least 1")
    if (run is None) != (queries is None):
        raise UsageError("--run and --queries: give both, or neither")
    if run is not None and queries is not None:
        if model is not None or serve:
            raise UsageError(
                "--run writes BM25's ranking; a model's is written by `directrank features` with this index, "
                "and `directrank rank MODEL DATA --format trec`"
            )
        check_file(run, "--run", queries, printing=json)
        _write_run(index, queries, depth, run, json=json)
        return
    if model is None:
        raise UsageError("Missing argument 'MODEL'. See `directrank search --help`.")
    if (query is None) != serve:
        raise UsageError("give a QUERY, or --serve for a page with a search box")
    opened = open_index(index)
    path = _trained(model, method) if model.is_dir() else model
    vectors = {
        name: [*words[:1], *map(_function, words[1:2]), *words[2:]]
        for name, words in assignments("--embed", embed or (), names).items()
    }
    with usage():
        searcher = Searcher(opened, load(path), depth=depth, embeddings=vectors)
    if query is None:
        _serve(searcher, index.resolve().name, port, n)
        return
    result = searcher.search(query, n)
    if json:
        facts = {"query": query, "model": str(path), "candidates": result.n_candidates}
        facts |= {"mean_score": result.mean_score, "hits": [_facts(hit) for hit in result.hits]}
        print_json(facts)
        return
    if not result.hits:
        remark(f"no document has a term of {query!r}")
    for hit in result.hits:
        print(f"{hit.rank:>2}. {_marked(hit.title) or '(no title)'}")
        if hit.snippet:
            print(f"    {_marked(hit.snippet)}")
        added = hit.contributions or []
        reasons = ", ".join(f"{name} {value:+.3f}" for name, value in added[:4])
        more = len(added) - 4
        reasons += f", {more} more" if more > 0 else ""
        place = f"score {hit.score:.4f}, BM25 rank {hit.bm25_rank}"
        print(printable(f"    {hit.docid}: {place}{f': {reasons}' if reasons else ''}"))


def _write_run(index: Path, queries: Path, depth: int, path: Path, *, json: bool) -> None:
    """Write the first documents of BM25 for each query."""
    from directrank.apps.text import bm25_run
    from directrank.files.scores import format_of_scores

    retrieved = bm25_run(index, queries, depth=depth)
    form = format_of_scores(None, path)
    # One score per line would not say whose it is.
    form = format_of_scores("trec", None) if form.name == "scores" else form
    write_atomically(path, form.content(retrieved.groups, retrieved.groups.X[:, 0].astype(float), "bm25"))
    lines = [
        *retrieved.lines,
        f"Written: {path}, {retrieved.groups.n_docs} documents of {retrieved.groups.n_queries} queries",
    ]
    _print_lines(lines, json=json, run=str(path))


def _function(word: str) -> Any:
    """Return the function that MODULE:FUNCTION names, or the word itself if it names none."""
    module, colon, name = word.partition(":")
    if not colon or "/" in word or "\\" in word:
        return word
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--embed {word}: {error}") from error
    finally:
        sys.path.remove("")


def _serve(searcher: "Searcher", name: str, port: int, n: int) -> None:
    """Answer queries until Ctrl-C, which is how a server ends."""
    from directrank.apps.text import SearchServer

    try:
        server = SearchServer(searcher, name, port, n)
    except (OSError, OverflowError) as error:
        raise UsageError(f"--port {port}: {getattr(error, 'strerror', error)}; try --port 0") from None
    with server:
        print(f"Open {server.url} (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _trained(folder: Path, method: str) -> Path:
    """Return the file of a model that is trained on all queries of a folder of features, now or earlier."""
    from directrank.apps.cli.output import spinner
    from directrank.apps.text import model_of_features

    with usage(f"--method {method}"), spinner(f"model of {method} in {folder}, trained once"):
        return model_of_features(folder, method)


def _options(encoding: str | None, columns: list[str] | None, **others: Any) -> "CollectionOptions":
    from directrank.apps.text import CollectionOptions

    by_role = assignments("--columns", columns or (), str)
    with usage():
        return CollectionOptions(encoding=encoding, columns=by_role, **others)


def _print_lines(lines: list[str], *, json: bool, **facts: object) -> None:
    if json:
        print_json({**facts, "notes": lines})
    else:
        remark(*lines)


def _facts(hit: "Hit") -> JSONObject:
    texts = {name: "".join(piece.text for piece in getattr(hit, name)) for name in ("title", "snippet")}
    return {**hit._asdict(), **texts, "contributions": dict(hit.contributions or ())}


def _marked(pieces: Sequence["Piece"]) -> str:
    """Return a line whose terms of the query are bold on a terminal and between asterisks in a pipe."""
    on, off = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("*", "*")
    texts = [(printable(piece.text.replace("\n", " ")), piece.marked) for piece in pieces]
    return "".join(f"{on}{text}{off}" if marked else text for text, marked in texts)

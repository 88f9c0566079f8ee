"""`directrank explain`, `importance` and `audit`: what is behind a model's scores."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.options import JSON, Model, Plugin, Reading, Seed, Target
from directrank.apps.cli.output import difference_cells, print_columns, print_json, remark
from directrank.apps.cli.settings import check_file, read_documents
from directrank.errors import DataError, ModelFormatError
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import JSONObject

if TYPE_CHECKING:
    from directrank.apps.fusion import Fusion

#: What a document is compared with by `--training`.
TRAINING = "mean of training"


def show(*, model: Model, json: JSON = False) -> None:
    """Print what a model is: method, columns, scaling, training, and where it can be exported to."""
    from directrank.apps.report import model_card

    card = model_card(model)
    if json:
        print_json(card.to_dict())
    else:
        print_columns(["", model.name], card.rows())


def explain(
    model: Model,
    data: list[Path],
    *,
    query: str,
    docs: Sequence[str] = (),
    training: bool = False,
    reading: Reading,
    json: JSON = False,
) -> None:
    """Say why one document is ranked above another: what each feature, or run, adds to their difference.

    The contributions are Shapley values and add up to the difference of the scores.

    DATA…: Documents; they need no relevance. Of a fusion its runs.
    --query QID: The query.
    --docs A,B: Two documents by their docid, or by their row in DATA from 1 if they have none; or A alone,
        which is compared with the mean of the query. [default: the first two of the ranking]
    --training: Compare with the mean of the training documents, by their counts in the nodes of trees
        (path-dependent TreeSHAP).
    """
    from directrank.models import load

    try:
        ranker: Any = load(model)
    except ModelFormatError as error:
        from directrank.apps.fusion import Fusion

        try:
            fusion = Fusion.load(model)
        except ModelFormatError:
            raise error from None
        if training:
            raise UsageError("--training: a fusion has no training documents") from None
        facts = _of_fusion(fusion, data, query, docs, reading)
    else:
        if len(data) > 1:
            raise UsageError(f"{data[1]}: a ranker reads one file of documents; a fusion reads its runs")
        facts = _of_ranker(ranker, data[0], query, docs, reading, training=training)
    print_json(facts) if json else _print_explanation(facts)


def _of_ranker(
    ranker: Any, data: Path, query: str, docs: Sequence[str], reading: Reading, *, training: bool
) -> JSONObject:
    """Return what each feature adds to the difference of two documents' scores."""
    import numpy as np

    from directrank.estimators.documents import features_of, names_of_features
    from directrank.files.scores import document_words

    how = ranker.read_options(reading)
    try:
        groups_of_data = read_documents(data, how)
    except DataError:  # it may have no relevance
        groups_of_data = read_documents(data, replace(how, labelled=False))
    of_query = [str(qid) == query for qid in groups_of_data.queries.qid.tolist()]
    if not any(of_query):
        some = ", ".join(map(str, groups_of_data.queries.qid[:3].tolist()))
        raise UsageError(f"--query {query}: {data} has no such query; its first are {some}")
    rows = np.flatnonzero(groups_of_data.qid == groups_of_data.queries.qid[of_query.index(True)])
    words = document_words(groups_of_data)
    labels, groups = [words[row] for row in rows], groups_of_data.select(np.array(of_query))
    scores = ranker.predict(groups)
    order = np.argsort(-scores, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(1, len(order) + 1)
    chosen = _chosen(docs, labels, order[:2].tolist(), query)
    rest, mean = chosen[1:] or list(range(len(labels))), "mean of the query"
    features, in_caller_order = features_of(ranker, groups)
    X = in_caller_order(features.rows)
    if training:
        of_each = ranker.explain(groups, rows=chosen, against="training")
        added, rest, mean = of_each[0] - of_each[1:].sum(axis=0), chosen[1:], TRAINING
    else:
        added = ranker.explain(groups, rows=chosen[0], against=rest)[0]
    contributions = [
        {"feature": feature, "value": _mean(X[chosen[:1], k]), "other": _mean(X[rest, k]), "adds": added[k]}
        for k, feature in enumerate(names_of_features(ranker))
    ]
    documents = [
        {"document": labels[at], "rank": rank[at], "score": scores[at],
         "relevance": groups.relevance[at] if groups.labelled else None}
        for at in chosen
    ]  # fmt: skip
    return _facts(query, documents, mean, contributions)


def _of_fusion(
    fusion: "Fusion", runs: Sequence[Path], query: str, docs: Sequence[str], reading: Reading
) -> JSONObject:
    """Return what each run adds to the difference of two documents' fused scores."""
    import numpy as np

    from directrank.apps.fusion import Runs

    with usage():
        ranked = fusion.explain(Runs.read(runs, how=reading), query)
    chosen = _chosen(docs, [document.docid for document in ranked], [0, 1][: len(ranked)], query)
    rest = chosen[1:] or list(range(len(ranked)))
    contributions = []
    for run in fusion.runs_:
        own = np.array([document.scores[run] for document in ranked])
        adds = np.array([document.adds[run] for document in ranked])
        difference = adds[chosen[0]] - adds[rest].mean()
        contributions.append(
            {"feature": run, "value": _mean(own[chosen[:1]]), "other": _mean(own[rest]), "adds": difference}
        )
    documents = [
        {"document": ranked[at].docid, "rank": at + 1, "score": ranked[at].score, "relevance": None}
        for at in chosen
    ]
    return _facts(query, documents, "mean of the query", contributions)


def _chosen(docs: Sequence[str], labels: list[str], first: list[int], query: str) -> list[int]:
    """Return the places of the documents that are asked for, or the first two of the ranking."""
    typed = f"--docs {','.join(docs)}"
    chosen = [_place(word, labels, typed, query) for word in docs] or first
    if len(chosen) not in (1, 2):
        raise UsageError(f"{typed}: expected one document or two, with a comma")
    return chosen


def _facts(query: str, documents: list[JSONObject], mean: str, contributions: list[JSONObject]) -> JSONObject:
    return {
        "query": query,
        "documents": documents,
        "compared_with": documents[1]["document"] if documents[1:] else mean,
        "difference": sum(contribution["adds"] for contribution in contributions),
        "contributions": sorted(contributions, key=lambda contribution: -abs(contribution["adds"])),
    }


def _mean(values: Any) -> float | None:
    """Return the mean of the values that are not missing, or None if all are."""
    present = values[values == values].astype(float)
    return present.mean() if present.size else None


def _place(word: str, labels: list[str], typed: str, query: str) -> int:
    places = [place for place, name in enumerate(labels) if name == word]
    if len(places) != 1:
        some = ", ".join(labels[:3])
        many = "several documents" if places else "no document"
        raise UsageError(f"{typed}: query {query} has {many} {word!r}; its first are {some}")
    return places[0]


def _print_explanation(facts: JSONObject) -> None:
    for document in facts["documents"]:
        judged = "" if document["relevance"] is None else f", relevance {document['relevance']:g}"
        print(
            f"document {document['document']}: rank {document['rank']}, score {document['score']:.6g}{judged}"
        )
    nonzero = [contribution for contribution in facts["contributions"] if contribution["adds"]]
    unknown = "–" if facts["compared_with"] == TRAINING else "missing"
    rows = [
        [contribution["feature"],
         *(unknown if contribution[which] is None else f"{contribution[which]:.6g}"
           for which in ("value", "other")),
         f"{contribution['adds']:+.6g}"]
        for contribution in nonzero
    ]  # fmt: skip
    rows.append(["sum", "", "", f"{facts['difference']:+.6g}"])
    head = [f"query {facts['query']}", facts["documents"][0]["document"], facts["compared_with"], "adds"]
    print()
    print_columns(head, rows)
    rest = len(facts["contributions"]) - len(nonzero)
    if rest:
        remark(f"{rest} further features add nothing")


def importance(
    model: Model,
    data: Path,
    *,
    measure: str | None = None,
    repeats: int = 5,
    seed: Seed = 0,
    reading: Reading,
    plugin: Plugin = None,
    json: JSON = False,
) -> None:
    """Print what the measure loses when a feature is shuffled inside queries.

    The interval and the p-value are over queries: whether the loss would show on other queries, too.

    DATA: Documents with relevance, not those of training.
    --measure NAME: The measure. [default: nDCG@10]
    --repeats N: Number of shuffles, over which losses are averaged.
    """
    from directrank.apps.cli.output import spinner
    from directrank.apps.evaluation import importance as measured
    from directrank.measures import DEFAULT_MEASURE, parse_measure
    from directrank.models import load

    with usage(f"--measure {measure}"):
        chosen = parse_measure(measure or DEFAULT_MEASURE)
    if repeats < 1:
        raise UsageError(f"--repeats {repeats}: expected 1 or more")
    ranker = load(model)
    groups = read_documents(data, ranker.read_options(reading))
    with spinner(f"shuffling {groups.n_features} features of {groups.n_queries} queries"):
        result = measured(ranker, groups, chosen, repeats=repeats, random_state=seed)
    rows = result.rows()
    if json:
        print_json(
            {
                "measure": result.measure,
                "value": result.value,
                "n_queries": len(result.losses),
                "features": rows,
            }
        )
        return
    print(f"{result.measure} {result.value:.4f} on {len(result.losses)} queries; when a feature is shuffled:")
    lines = [
        [row["feature"], *difference_cells(
            *(row[which] for which in ("loss", "low", "high")),
            p=[row[which] for which in ("p", "p_holm")],
            counts=[row[which] for which in ("worse", "equal", "better")],
        )]
        for row in rows if row["worse"] or row["better"]
    ]  # fmt: skip
    print_columns(["feature", "loss", "interval", "worse/equal/better", "p", "p holm"], lines)
    rest = len(rows) - len(lines)
    if rest:
        remark(f"{rest} further features change no query")


def audit(
    model: Model,
    data: Path,
    *,
    measure: str | None = None,
    picture: Target | None = None,
    reading: Reading,
    plugin: Plugin = None,
    json: JSON = False,
) -> None:
    """Compare a model's loss with its bounds and approximations.

    DATA: Documents with relevance, such as the training data.
    --measure NAME: Measure to audit. [default: the model's own]
    --picture FILE: Also draw the table as an SVG file.
    """
    from directrank.apps.cli.output import spinner
    from directrank.apps.report import audit_chart
    from directrank.diagnostics import audit as audited
    from directrank.measures import parse_measure
    from directrank.models import load

    with usage(f"--measure {measure}"):
        chosen = None if measure is None else parse_measure(measure)
    if picture is not None:
        check_file(picture, "--picture", model, data, printing=True)
    ranker = load(model)
    groups = read_documents(data, ranker.read_options(reading))
    with spinner(f"auditing {groups.n_queries} queries"):
        result = audited(ranker, groups, chosen)
    if picture is not None:
        write_atomically(picture, audit_chart(result))
        remark(f"Written: {picture}")
    if json:
        print_json(result.to_json())
        return
    head, lines = result.table()
    print_columns([f"{result.measure}, {len(result.qid)} queries", *head[1:]], lines, wrap=[0])
    remark(
        "error: for a bound, how far its maximum over all rankings can lie above the value that a ranking "
        "attains; for an approximation, how far it can be from 1 - E; both are proved"
    )
    if result.left_out:
        remark(f"skipped, because they are the same for every ranking: {', '.join(result.left_out)}")

"""`directrank fit`, `rank` and `evaluate`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directrank.cli.failures import UsageError, method_may_fail, usage
from directrank.cli.options import JSON, Convention, Measures, Missing, Quiet, Seed
from directrank.cli.output import print_columns, print_json, remark
from directrank.cli.settings import missing_rule, names, parameters_of
from directrank.cli.supervision import supervised

if TYPE_CHECKING:
    from directrank.data import QueryGroups


def fit(
    method: Annotated[str, typer.Argument(help="A method's name; see `directrank methods`.")],
    train: Annotated[Path, typer.Argument(help="LETOR or SVMlight text, may be gzipped.")],
    valid: Annotated[
        Path | None, typer.Option("--valid", help="Validation part; the best iterate on it is kept.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="What to train for, such as nDCG@10.")
    ] = None,
    select_by: Annotated[
        str | None, typer.Option("--select-by", help="What chooses iterates (default: the measure).")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter; may be repeated.")
    ] = None,
    preferences: Annotated[
        Path | None,
        typer.Option(
            help="Preferences in place of grades: lines of the better and the worse document, from 1."
        ),
    ] = None,
    rankings: Annotated[
        bool, typer.Option("--rankings", help="The grades are positions in observed rankings, 1 the best.")
    ] = False,
    out: Annotated[Path, typer.Option("-o", "--out", help="The model file.")] = Path("model.dr"),
    seed: Seed = 0,
    missing: Missing = "error",
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Train one ranker and save it."""
    from directrank.cli.progress import Spinner
    from directrank.models import save

    chosen = _configured(method, measure, select_by)
    parameters = parameters_of(settings or [], chosen)
    rule = missing_rule(missing)
    with usage():
        ranker = chosen.build(parameters, random_state=seed).checked()
    parts = supervised(_parts(train, valid, rule), preferences, rankings)
    checks = _data_check(parts["train"])
    for line in checks:
        remark(f"data check: {line}", quiet=quiet or json)
    spinner = Spinner(f"training {chosen.label} on {parts['train'].n_docs} documents", quiet=quiet or json)
    with method_may_fail(chosen.label), spinner:
        ranker.fit(parts["train"], eval_set=parts.get("vali"))
    save(ranker, out)
    facts = _facts(chosen.label, ranker, parts, out)
    if json:
        print_json({**facts, "data_check": checks})
    else:
        _print_facts(facts)


def rank(
    model: Annotated[Path, typer.Argument(help="A model that `directrank fit` saved.")],
    data: Annotated[Path, typer.Argument(help="Documents to rank; relevance may be missing.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where to write (default: the terminal).")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="scores: one a line, in the order of the rows; or trec: a run.")
    ] = "scores",
    tag: Annotated[str, typer.Option("--tag", help="Last column of a TREC run.")] = "directrank",
    missing: Missing = "error",
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Score documents with a trained ranker."""
    from directrank.data import read_letor
    from directrank.data.trec.runs import FORMATS
    from directrank.models import load
    from directrank.storage.atomic import write_atomically

    if form not in FORMATS:
        raise UsageError(f"--format {form}: expected {' or '.join(FORMATS)}")
    if form == "trec" and not tag.split() == [tag]:
        raise UsageError(f"--tag {tag!r}: a run's tag is one word")
    ranker = load(model)
    groups = read_letor(data, missing=missing_rule(missing), n_features=ranker.n_features_in_, labelled=False)
    scores = ranker.predict(groups)
    text = FORMATS[form](groups, scores, tag)
    if out is not None:
        write_atomically(out, text)
        remark(
            f"Written: {out}, {groups.n_docs} documents of {groups.n_queries} queries", quiet=quiet or json
        )
    elif not json:
        sys.stdout.write(text)
    if json:
        facts = {
            "documents": groups.n_docs,
            "queries": groups.n_queries,
            "out": None if out is None else str(out),
        }
        print_json(facts if out is not None else {**facts, "scores": scores})


def evaluate(
    data: Annotated[Path, typer.Argument(help="Documents with relevance.")],
    scores: Annotated[Path, typer.Argument(help="One score a line, in the order of the documents.")],
    measures: Measures = "AP,nDCG@1,nDCG@3,nDCG@5,nDCG@10",
    convention: Convention = "standard",
    per_query: Annotated[bool, typer.Option("--per-query", help="Print every query.")] = False,
    missing: Missing = "error",
    json: JSON = False,
) -> None:
    """Measure scores against relevance."""
    from directrank.data import read_letor
    from directrank.data.trec.runs import read_scores
    from directrank.measures import CONVENTIONS, parse_measure
    from directrank.measures import evaluate as measured

    if convention not in CONVENTIONS:
        raise UsageError(f"no convention is called {convention!r}; there are {', '.join(CONVENTIONS)}")
    with usage():
        asked = [parse_measure(name) for name in names(measures)]
    if not asked:
        raise UsageError("--measures names no measure; give one or more, such as AP,nDCG@10")
    groups = read_letor(data, missing=missing_rule(missing))
    values = read_scores(scores, groups.n_docs, str(data))
    result = measured(groups, values, measures=asked, convention=convention, per_query=per_query)
    if json:
        print_json(result.to_dict())
        return
    if result.per_query is not None:
        print_columns(
            ["qid", *result],
            [
                [str(qid), *(f"{result.per_query[name][place]:.4f}" for name in result)]
                for place, qid in enumerate(result.qid.tolist())
            ],
        )
        print()
    print(result)


def _configured(method: str, measure: str | None, select_by: str | None):
    from directrank.estimators.methods import configured

    with usage():
        spec = method if measure is None else f"{method}({measure})"
        found = configured(spec, select_by or measure or "AP")
    if len(found) != 1:
        raise UsageError(f"{method}: fit trains one method; `directrank compare` trains several")
    return found[0]


def _parts(train: Path, valid: Path | None, missing) -> dict[str, "QueryGroups"]:
    """Read the parts, with as many features as the wider of them has."""
    from directrank.data import read_letor

    parts = {"train": read_letor(train, missing=missing)}
    if valid is not None:
        parts["vali"] = read_letor(valid, missing=missing)
        width = max(part.n_features for part in parts.values())
        for name, path in (("train", train), ("vali", valid)):
            if parts[name].n_features < width:
                parts[name] = read_letor(path, missing=missing, n_features=width)
    return parts


def _data_check(groups: "QueryGroups") -> list[str]:
    from directrank.diagnostics import check_data

    return check_data(groups).lines()


def _facts(label: str, ranker, parts: dict[str, "QueryGroups"], out: Path) -> dict[str, Any]:
    from directrank.measures import evaluate as measured

    by = ranker.selected_by_
    return {
        "method": label,
        "parameters": {name: str(value) for name, value in ranker.get_params(deep=False).items()},
        "selected_by": by,
        "values": {
            name: measured(part, ranker.predict(part), measures=by)[by] for name, part in parts.items()
        },
        "status": ranker.status_,
        "message": ranker.message_,
        "certificate": ranker.certificate_,
        "notes": ranker.notes_,
        "model": str(out),
    }


def _print_facts(facts: dict[str, Any]) -> None:
    values = ", ".join(f"{part} {value:.4f}" for part, value in facts["values"].items())
    evidence = ", ".join(f"{name} {value:.3g}" for name, value in facts["certificate"].items())
    message, proof = facts["message"], f" ({evidence})" if evidence else ""
    print(f"{facts['method']}: {facts['selected_by']} {values}")
    print(f"{facts['status']}{': ' if message else ''}{message}{proof}")
    for note in facts["notes"]:
        print(f"note: {note}")
    print(f"saved: {facts['model']}")

"""`directrank audit`."""

from pathlib import Path
from typing import Annotated

import typer

from directrank.cli.failures import usage
from directrank.cli.options import JSON, Missing
from directrank.cli.output import print_columns, print_json, remark
from directrank.cli.settings import missing_rule


def audit(
    model: Annotated[Path, typer.Argument(help="A model that `directrank fit` saved.")],
    data: Annotated[Path, typer.Argument(help="Documents with relevance, such as those it was trained on.")],
    measure: Annotated[
        str | None, typer.Option("--measure", help="Of which measure (default: the model's own).")
    ] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="Where to draw it, as SVG.")] = None,
    missing: Missing = "error",
    json: JSON = False,
) -> None:
    """Put a model's loss beside every bound on it and every approximation of it."""
    from directrank.cli.progress import Spinner
    from directrank.data import read_letor
    from directrank.diagnostics import audit as audited
    from directrank.measures import parse_measure
    from directrank.models import load
    from directrank.report.charts.audit import draw as audit_chart
    from directrank.storage.atomic import write_atomically

    with usage():
        chosen = None if measure is None else parse_measure(measure)
    ranker = load(model)
    groups = read_letor(data, missing=missing_rule(missing), n_features=ranker.n_features_in_)
    with Spinner(f"auditing {groups.n_queries} queries", quiet=json):
        found = audited(ranker, groups, chosen)
    if picture is not None:
        write_atomically(picture, audit_chart(found))
        remark(f"Written: {picture}", quiet=json)
    if json:
        print_json(found.to_json())
        return
    head, lines = found.table()
    head[0] = f"{found.measure}, {len(found.qid)} queries"
    print_columns(head, lines)
    remark(
        "error: of a bound, how far the maximum over all rankings can lie above the value, which a ranking "
        "attains; of an approximation, how far it can be from 1 - E; both proved"
    )
    if found.left_out:
        remark(f"left out, the same for every ranking: {', '.join(found.left_out)}")

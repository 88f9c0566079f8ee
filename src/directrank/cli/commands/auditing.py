"""`directrank audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from directrank.cli.failures import usage
from directrank.cli.options import JSON, Plugin, Reading, argument, option, target
from directrank.cli.output import print_columns, print_json, remark
from directrank.cli.settings import check_file, read_documents

if TYPE_CHECKING:
    from directrank.diagnostics import Audit


def audit(
    *,
    model: Annotated[
        Path, argument("MODEL", "A model of `directrank fit`, of LightGBM (text) or XGBoost (JSON).")
    ],
    data: Annotated[Path, argument("DATA", "Documents with relevance, such as the training data.")],
    measure: Annotated[
        str | None, option("--measure NAME", "Measure to audit.  [default: the model's own]")
    ] = None,
    picture: Annotated[Path | None, target("--picture FILE", "Also draw the table as an SVG file.")] = None,
    reading: Reading,
    plugin: Plugin = None,
    json: JSON = False,
) -> None:
    """Compare a model's loss with its bounds and approximations."""
    from directrank.cli.progress import spinner
    from directrank.diagnostics import audit as audited
    from directrank.measures import parse_measure
    from directrank.models import load
    from directrank.report.pictures import draw as audit_chart
    from directrank.storage.atomic import write_atomically

    with usage(f"--measure {measure}"):
        chosen = None if measure is None else parse_measure(measure)
    if picture is not None:
        check_file(picture, "--picture", model, data, printing=True)
    ranker = load(model)
    groups = read_documents(data, reading.how_for(ranker), quiet=json)
    with spinner(f"auditing {groups.n_queries} queries", quiet=json):
        found = audited(ranker, groups, chosen)
    if picture is not None:
        write_atomically(picture, audit_chart(found))
        remark(f"Written: {picture}", quiet=json)
    if json:
        print_json(found.to_json())
    else:
        _print(found)


def _print(found: "Audit") -> None:
    head, lines = found.table()
    print_columns([f"{found.measure}, {len(found.qid)} queries", *head[1:]], lines)
    remark(
        "error: for a bound, how far its maximum over all rankings can lie above the value that a ranking "
        "attains; for an approximation, how far it can be from 1 - E; both are proved"
    )
    if found.left_out:
        remark(f"skipped, because they are the same for every ranking: {', '.join(found.left_out)}")

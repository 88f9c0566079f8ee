"""`directrank export`."""

from pathlib import Path
from typing import Annotated

from directrank.cli.failures import usage
from directrank.cli.options import JSON, Quiet, Reading, argument, option, target
from directrank.cli.output import print_json, remark
from directrank.cli.settings import check_file, read_documents


def export(
    *,
    model: Annotated[
        Path, argument("MODEL", "A model of `directrank fit`, of LightGBM (text) or XGBoost (JSON).")
    ],
    to: Annotated[str, option("--to TARGET", "The engine; docs/export.md has a table of all.")],
    out: Annotated[Path, target("-o --out FILE", "The file to write; - for standard output.")],
    check: Annotated[
        Path | None,
        option("--check DATA", "Documents with relevance: run the target's own rule on them, and compare."),
    ] = None,
    target_version: Annotated[
        str | None, option("--target-version V", "Version of the engine, where files differ by it.")
    ] = None,
    measure: Annotated[
        str | None, option("--measure NAME", "Measure of --check.  [default: the model's own]")
    ] = None,
    reading: Reading,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Write a ranker for another engine: source code, ONNX, Elasticsearch, Solr, Vespa and others.

    What the engine cannot express is refused, never approximated.
    """
    from directrank.measures import parse_measure
    from directrank.models import export as exported
    from directrank.models import load
    from directrank.storage.atomic import is_standard_output

    with usage(f"--measure {measure}"):
        name = None if measure is None else parse_measure(measure).name
    check_file(out, "--out", model, check, printing=json)
    ranker = load(model)
    groups = None
    if check is not None:
        groups = read_documents(check, reading.how_for(ranker), quiet=quiet or json)
    with usage(f"--to {to}"):
        result = exported(ranker, to, out, target_version=target_version, check=groups, measure=name)
    if json:
        facts = None if result.check is None else vars(result.check)
        print_json(
            {"target": to, "out": str(out), "needs": result.needs, "changes": result.changes, "check": facts}
        )
        return
    size = f"{len(result.content)} bytes"
    lines = [f"Written: {out}, {size} for {to}", *(f"needs: {line}" for line in result.needs)]
    lines += [f"changed: {line}" for line in result.changes]
    for line in [*lines, *([] if result.check is None else [str(result.check)])]:
        remark(line, quiet=quiet) if is_standard_output(out) else (quiet or print(line))

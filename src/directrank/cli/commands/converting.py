"""`directrank convert`: files into a store."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from directrank.cli.options import JSON, Converting, Quiet, argument, option, target
from directrank.cli.output import print_json, remark
from directrank.cli.settings import check_folder


def convert(
    *,
    data: Annotated[Path, argument("DATA", "The documents: LETOR text, CSV, TSV, Parquet, Arrow or a log.")],
    out: Annotated[Path, target("-o --out FOLDER", "The store to write.")],
    n_features: Annotated[
        int | None,
        option("--n-features N", "Features of LETOR text.  [default: the largest number of one]"),
    ] = None,
    force: Annotated[bool, option("--force", "Take a folder that holds other files, too.")] = False,
    reading: Converting,
    json: JSON = False,
    quiet: Quiet = False,
) -> None:
    """Turn documents into a store, which `fit`, `rank`, `evaluate` and `compare` read without loading it.

    The features stay on the disk and are read as they are used, so data may be larger than memory.
    """
    from directrank.cli.progress import spinner
    from directrank.data.files import columns_line
    from directrank.data.files.reading import converted

    how = replace(reading.how(), n_features=n_features)
    check_folder(out, "--out", force=force)
    line = columns_line(data, how)
    remark(line, quiet=quiet or json or not line)
    with spinner(f"converting {data}", quiet=quiet or json):
        groups = converted(data, out, how, force=force)
    facts = {
        "documents": groups.n_docs, "queries": groups.n_queries, "features": groups.n_features,
        "bytes": groups.features.nbytes, "out": str(out),
    }  # fmt: skip
    if json:
        print_json(facts)
    remark(
        f"Written: {out}, {groups.n_docs} documents of {groups.n_queries} queries with {groups.n_features} "
        "features",
        quiet=quiet or json,
    )

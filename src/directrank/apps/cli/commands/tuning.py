"""`directrank tune`: weights of a few signals, beside those in use."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrank.apps.cli.failures import UsageError, usage
from directrank.apps.cli.options import JSON, Plugin, Quiet, Reading, Seed, Target
from directrank.apps.cli.output import print_columns, print_json, print_paragraph, remark, training
from directrank.apps.cli.settings import check_file, read_documents

if TYPE_CHECKING:
    from directrank.apps.fusion import Tuning

#: What `--out` writes, by the ending of its name, beside JSON and a model; None is not of an export.
ENDINGS = {".sql": "sql", ".py": "python"}
#: A step of the folds, of which there are at most these beside the resamples, is one ascent.
ASCENTS = 60


def tune(
    data: Path,
    *,
    signals: Sequence[str] = (),
    start: Path | None = None,
    form: str | None = None,
    measure: str = "nDCG@10",
    resamples: int = 200,
    accept: bool = False,
    out: Target | None = None,
    seed: Seed = 0,
    reading: Reading,
    plugin: Plugin = None,
    quiet: Quiet = False,
    json: JSON = False,
) -> None:
    """Tune the weights of a few signals from those in use, and say whether to keep yours.

    Intervals of the weights, signals to drop, and the gain on queries that the weights were not tuned on.
    Without a gain that is shown, --out has the weights in use.

    DATA: Judged documents with the signals as columns.
    --signals NAMES: At most 30 columns, with commas; 'log(NAME)' is the logarithm of 1 + a column. [default:
        those of --start, or all]
    --start FILE: The weights in use, an object of JSON: numbers by the names of signals. [default: equal
        influence]
    --form NAME: sum; product, of (1 + signal) to powers; or scaled, a sum of signals scaled to [0, 1] inside
        each query. [default: that of --start, or sum]
    --measure NAME: Measure to tune for.
    --resamples N: Resamples of queries for the intervals of weights.
    --accept: Write the tuned weights even if no gain is shown.
    -o --out FILE: The file for the weights: .json, which rank, export and --start read; .sql, .py, or .dr.
    """
    from directrank.apps.fusion import tune as tuned
    from directrank.apps.fusion import weights_in_use

    if out is not None:
        if out.suffix not in (".json", ".dr", *ENDINGS):
            raise UsageError(
                f"--out {out}: expected .json, .sql, .py or .dr; `directrank export weights.json --to go` "
                "writes other languages"
            )
        check_file(out, "--out", data, printing=json)
    with usage():
        in_use = weights_in_use(start)
        names = [*signals] or list(in_use.weights if in_use else ())
        how = reading
        columns = [re.sub(r"^log\((.+)\)$", r"\1", name) for name in names]
        if how.features is None and not all(re.fullmatch(r"f\d+", name) for name in columns):
            how = replace(how, features=columns)
        groups = read_documents(data, how)
        with training(f"tuning on {groups.n_queries} queries", resamples + ASCENTS):
            found = tuned(
                groups, names or None, start=in_use, measure=measure, form=form, resamples=resamples,
                random_state=seed,
            )  # fmt: skip
    if out is not None:
        _write(found, out, accept=accept)
    if json:
        print_json({**found.to_dict(), "out": None if out is None else str(out)})
        return
    rows = []
    for signal in found.signals:
        interval = f"{signal.low:.4g} to {signal.high:.4g}"
        numbers = [f"{signal.start:.4g}", f"{signal.tuned:.4g}", interval]
        rows.append([signal.name, *numbers, "drop" * signal.drop])
    print_columns(["signal", "yours" if start else "equal", "tuned", "95 % interval", ""], rows)
    print()
    for sentence in found.summary():
        print_paragraph(sentence)
    if out is not None:
        which = "the tuned weights" if accept or found.is_shown else "your weights; --accept writes the tuned"
        remark(f"Written: {out}, {which}")


def _write(found: "Tuning", out: Path, *, accept: bool) -> None:
    if out.suffix == ".json":
        found.save(out, accept=accept)
        return
    ranker: Any = found.ranker(accept=accept)
    if out.suffix == ".dr":
        from directrank.models import save

        save(ranker, out)
    else:
        from directrank.apps.engines import export

        with usage(f"--out {out}"):
            export(ranker, ENDINGS[out.suffix], out)

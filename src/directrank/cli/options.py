"""Options of the commands, each written once."""

from pathlib import Path
from typing import Annotated, Any

import typer


def option(flags: str, text: str) -> Any:
    """Return an option; `flags` are its names and then its metavar, such as ``-o --out FILE``."""
    *names, last = flags.split()
    if last.startswith("-"):
        return typer.Option(*names, last, help=text)
    return typer.Option(*names, metavar=last, help=text)


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument."""
    return typer.Argument(metavar=metavar, help=text)


JSON = Annotated[bool, option("--json", "Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, option("-q --quiet", "Print results only.")]
Seed = Annotated[int, option("--seed N", "Seed of all random numbers; same seed and data, same results.")]
Missing = Annotated[
    str, option("--missing RULE", "Meaning of NULL in the data: error, query_min or a number.")
]
Measures = Annotated[
    str, option("--measures NAMES", "Measures to report, with commas; see `directrank measures`.")
]
Convention = Annotated[
    str,
    option(
        "--convention NAME",
        "How to report: standard, letor3, letor4, trec_eval, lightgbm, xgboost or sklearn.",
    ),
]
Set = Annotated[
    list[str] | None, option("--set NAME=VALUE", "Set a parameter of the method; may be repeated.")
]

# Options of `compare`; their parameters have the names of `directrank.experiments.options.Options`.
Methods = Annotated[
    str, option("--methods NAMES", 'Methods with commas, such as "adarank(AP), regression"; or all.')
]
SelectBy = Annotated[
    str, option("--select-by NAME", "Measure that chooses on validation data, in the standard convention.")
]
Settings = Annotated[
    list[str] | None,
    option(
        "--set NAME=VALUE",
        "Set a parameter of all methods that have it (penalty=0.1) or of one method "
        "(ranksvm.penalty=0.1); may be repeated.",
    ),
]
Grids = Annotated[
    list[str] | None,
    option(
        "--grid NAME=VALUES",
        "Choose a parameter from these values, such as penalty=0.01,0.1 or ranksvm.penalty=0.01,0.1; "
        "may be repeated.",
    ),
]
ResultsFolder = Annotated[
    Path | None, option("--out FOLDER", "Folder for results.  [default: runs/ and the name]")
]
DatasetName = Annotated[
    str | None, option("--name NAME", "Name of the data set in results.  [default: the name of its folder]")
]
Kfold = Annotated[int | None, option("--kfold N", "Split all queries into N random folds (uses --seed).")]
Search = Annotated[str, option("--search RULE", "Points of each grid to try: grid for all, or random:20.")]
Refit = Annotated[
    bool, option("--refit", "Train the chosen point again on training and validation data together.")
]
Seeds = Annotated[
    str | None, option("--seeds N,N,…", "Seeds to average over, such as 0,1,2.  [default: --seed]")
]
Restarts = Annotated[int, option("--restarts N", "Extra random restarts, where supported.")]
Jobs = Annotated[int, option("--jobs N", "Processes, of one thread each; at most one per processor.")]
Baseline = Annotated[
    str | None, option("--baseline NAME", "Test the other methods against this one, not every pair.")
]
Correction = Annotated[
    str, option("--correction NAME", "Correction for many tests: holm, or bh (Benjamini-Hochberg).")
]
Audit = Annotated[
    bool, option("--audit/--no-audit", "Record the bounds on the measure of each model, for the page.")
]
TableFormat = Annotated[str, option("--format NAME", "Print tables as text, markdown, latex, csv or json.")]
DryRun = Annotated[bool, option("--dry-run", "Print the number of fits and stop.")]

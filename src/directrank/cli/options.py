"""Options of the commands, each written once."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer


def option(flags: str, text: str) -> Any:
    """Return an option; `flags` are its names and then its metavar, such as ``-o --out FILE``."""
    *names, last = flags.split()
    if last.startswith("-"):
        return typer.Option(*names, last, help=text)
    return typer.Option(*names, metavar=last, help=text)


def target(flags: str, text: str) -> Any:
    """Return an option that names a file or a folder to write; an empty name is refused."""
    *names, metavar = flags.split()
    return typer.Option(*names, metavar=metavar, help=text, parser=_path)


def _path(text: str | Path) -> Path:
    if not os.fspath(text):
        raise typer.BadParameter("the name is empty; name a file or a folder")
    return Path(text)


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument."""
    return typer.Argument(metavar=metavar, help=text)


def _load_plugins(ctx: typer.Context, files: list[Path] | None) -> list[Path] | None:
    """Load the plug-ins of installed packages and of files, when their option is read."""
    if not ctx.resilient_parsing:
        from directrank.plugins import load_entry_points, load_plugin

        load_entry_points()
        for each in files or ():
            load_plugin(each)
    return files


Plugin = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE.py",
        callback=_load_plugins,
        help="A Python file with measures, surrogates or methods of your own (docs/plugins.md). It is run: "
        "name no file that you do not trust. May be repeated.",
    ),
]
JSON = Annotated[bool, option("--json", "Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, option("-q --quiet", "Print results only.")]
Force = Annotated[
    bool, option("--force", "Use a folder that holds other files; results replace files of their names.")
]
Seed = Annotated[int, option("--seed N", "Seed of all random numbers; same seed and data, same results.")]
Missing = Annotated[
    str | None,
    option(
        "--missing RULE",
        "Meaning of NULL or an empty cell: nan (methods take missing values), error, query_min or a number."
        "  [default: nan]",
    ),
]
NoVerify = Annotated[
    bool, option("--no-verify", "Do not compare the features of a store with their digests.")
]
Qid = Annotated[str | None, option("--qid COLUMN", "Column of queries in a table.  [default: by its name]")]
Label = Annotated[str | None, option("--label COLUMN", "Column of grades.  [default: by its name]")]
Docid = Annotated[
    str | None, option("--docid COLUMN", "Column of names of documents.  [default: by its name]")
]
Features = Annotated[
    str | None,
    option(
        "--features COLUMNS",
        "Columns of features, or patterns such as 'bm25*', with commas.  [default: all other columns]",
    ),
]
FirstFeature = Annotated[
    int | None,
    typer.Option(
        "--first-feature",
        metavar="N",
        min=0,
        max=1,
        help="Number of the first feature of LETOR text, 0 or 1.  [default: 1]",
    ),
]
Drop = Annotated[
    str | None,
    option("--drop COLUMNS", "Columns to leave out, or patterns, with commas: those that hold no numbers."),
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

"""Options that several commands share."""

from typing import Annotated

import typer

JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results only.")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed and data: same numbers.")]
Missing = Annotated[
    str,
    typer.Option("--missing", help="What a literal NULL in the data means: error, query_min or a number."),
]
Measures = Annotated[
    str, typer.Option("--measures", help="What to report: names with commas; see `directrank measures`.")
]
SelectBy = Annotated[
    str,
    typer.Option(
        "--select-by", help="The measure that chooses on validation data, in the standard convention."
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        "--convention",
        help="How to report: standard, letor3, letor4, trec_eval, lightgbm, xgboost or sklearn.",
    ),
]

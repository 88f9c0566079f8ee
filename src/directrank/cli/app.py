"""The command `directrank`: its commands, and how it ends."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.core import TyperGroup

from directrank.cli.commands import auditing, comparing, consistency, listing, training
from directrank.cli.failures import ended, usage_problem


class Guarded(TyperGroup):
    """A group of commands whose failures end in one line and an exit code."""

    def invoke(self, ctx) -> int:
        """Run the command that was asked for and return the exit code."""
        return ended(lambda: super(Guarded, self).invoke(ctx), debug=bool(ctx.params.get("debug")))


app = typer.Typer(
    cls=Guarded,
    name="directrank",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 2 wrong usage, 3 unusable data, 4 a method failed, 130 interrupted.",
)


def _print_version(asked: bool) -> None:
    if asked:
        from directrank import __version__

        typer.echo(f"directrank {__version__}")
        raise typer.Exit


@app.callback()
def directrank(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of a failure.")] = False,
) -> None:
    """Learn to rank by optimising the measure you will be judged by: AP, nDCG, P@k, RR, ERR.

    Start with `directrank demo`; it needs no data.
    """


COMMANDS = (
    ("Start here", comparing.demo),
    ("Start here", listing.methods),
    ("Start here", listing.measures),
    ("Start here", listing.doctor),
    ("Compare methods", comparing.compare),
    ("Compare methods", comparing.report),
    ("Train and use one ranker", training.fit),
    ("Train and use one ranker", training.rank),
    ("Train and use one ranker", training.evaluate),
    ("Train and use one ranker", auditing.audit),
    ("Look into a loss", consistency.consistency),
)
for panel, command in COMMANDS:
    app.command(rich_help_panel=panel)(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # --debug is understood anywhere, since it is typed after something went wrong: at the end of the line.
    words = [word for word in given if word != "--debug"]
    if len(words) < len(given):
        words.insert(0, "--debug")
    try:
        code = app(words, prog_name="directrank", standalone_mode=False)
    except Exception as error:
        return usage_problem(error)
    return code if isinstance(code, int) else 0

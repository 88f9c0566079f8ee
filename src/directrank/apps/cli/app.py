"""The command `directrank`: its commands, help and exit codes."""

import atexit
import gc
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from directrank.apps.cli.commands import (
    agreeing,
    clicks,
    comparing,
    consistency,
    cutting,
    drifting,
    evaluating,
    explaining,
    fusing,
    listing,
    texts,
    training,
    tuning,
)
from directrank.apps.cli.failures import UsageError, as_typed, ended, usage_problem
from directrank.apps.cli.options import docstring, expanded, option
from directrank.apps.cli.output import Remarks, open_closed_streams, remark
from directrank.timing import compilation

#: Every command, under the heading of its group.
COMMANDS: dict[str, Sequence[Callable[..., Any]]] = {
    "Start here": (comparing.demo, comparing.compare, training.fit, training.rank, evaluating.evaluate),
    "Look up names": (listing.methods, listing.measures, listing.doctor),
    "Understand a result": (
        comparing.report, explaining.show, drifting.drift, explaining.explain, explaining.importance,
    ),
    "Prepare and deploy": (
        training.convert, training.select, tuning.tune, training.export, cutting.cutoff,
    ),
    "Combine several retrievers": (fusing.fuse,),
    "Learn from click logs": (clicks.clicks, clicks.propensities),
    "Build a text search": (texts.index, texts.features, texts.search),
    "Check judgments, losses and plug-ins": (
        agreeing.agreement, explaining.audit, consistency.consistency, consistency.check,
    ),
}  # fmt: skip

HELP_ALL = "--help-all"
#: Of commands with many options, those that `--help` shows; `--help-all` shows the others, too.
DAILY: dict[str | None, str] = {
    "fit": "valid measure select_by settings out seed drop categorical missing json",
    "compare": "methods select_by measures out kfold split_by split_last baseline not_worse jobs dry_run",
}
#: Objects that are made before garbage is searched for.
LARGEST_YOUNG = 50_000


class Command(TyperCommand):
    """A command whose help names arguments and options without types of Python."""

    def invoke(self, ctx) -> Any:
        """Run the command; it says when kernels are compiled for long, unless it is quiet."""
        compilation.announce = remark
        Remarks.silent = bool(ctx.params.get("quiet") or ctx.params.get("json"))
        # What is imported stays. To look through it for garbage takes a tenth of the time of a short command,
        # and so does a search at every 700 objects while the command imports what it needs.
        gc.freeze()
        gc.set_threshold(LARGEST_YOUNG)
        atexit.register(gc.freeze)  # An ending process would search all that it has.
        with as_typed(self.params, ctx.params):
            return super().invoke(ctx)

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        """Read the words of a command line; an option of one value that is given twice is refused."""
        ctx.meta[HELP_ALL] = HELP_ALL in args
        args = ["--help" if word == HELP_ALL else word for word in args]
        *_, order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(order).items():
            option: Any = parameter
            if times > 1 and not (option.multiple or option.is_flag or option.param_type_name == "argument"):
                raise UsageError(f"{option.opts[0]} is given {times} times; give it once")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx) -> list[str]:
        """Return the words after the name of the command."""
        arguments = [parameter for parameter in self.params if parameter.param_type_name == "argument"]
        metavars = [(str(argument.metavar), argument.required) for argument in arguments]
        return ["[OPTIONS]", *(name if required else f"[{name}]" for name, required in metavars)]

    def format_options(self, ctx, formatter) -> None:
        """Write the arguments, then the options; of many those that are used daily, or all if asked."""
        shortened = self.name in DAILY and not ctx.meta.get(HELP_ALL)
        daily = DAILY[self.name].split() if shortened else None
        records = [
            (parameter.param_type_name, parameter.get_help_record(ctx))
            for parameter in self.get_params(ctx)
            if daily is None or parameter.param_type_name == "argument" or parameter.name in {*daily, "help"}
        ]
        for heading, kind in (("Arguments", "argument"), ("Options", "option")):
            # The type that follows a name, such as <int>, is one of Python; a slash is before a word for no.
            rows = [line for of, line in records if of == kind and line]
            lines = [(re.sub(r"^ / | <.*>$", "", name), text) for name, text in rows]
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)
        if daily is not None:
            formatter.write_paragraph()
            formatter.write_text(
                f"{len(self.params) - len(daily)} more options: directrank {self.name} {HELP_ALL}"
            )


class Commands(Mapping[str, Command]):
    """The commands by their names, each made when it is first used: most processes use one."""

    def __init__(self) -> None:
        self._functions = {function.__name__: function for function in chain(*COMMANDS.values())}
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(cls=Command)(expanded(self._functions[name]))
            self._made[name] = cast(Command, typer.main.get_command(alone))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


class Group(TyperGroup):
    """The group of all commands; failures of a command end in one line and an exit code."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.commands = Commands()  # pyright: ignore[reportAttributeAccessIssue]  # Nothing adds to them.

    def invoke(self, ctx) -> int:
        """Run the requested command and return the exit code."""
        return ended(lambda: super(Group, self).invoke(ctx), debug=bool(ctx.params.get("debug")))

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        """Read the words of a command line; before a command all help is the help."""
        return super().parse_args(ctx, ["--help", *args[1:]] if args[:1] == [HELP_ALL] else args)

    def format_options(self, ctx, formatter) -> None:
        """Write the commands under the headings of their groups, then the options."""
        for heading, members in COMMANDS.items():
            # The first sentence of a command's docstring says what it does.
            lines = [(command.__name__, docstring(command).partition("\n\n")[0]) for command in members]
            with formatter.section(heading):
                formatter.write_dl(lines)
        Command.format_options(self, ctx, formatter)  # pyright: ignore[reportArgumentType]


app = typer.Typer(
    cls=Group,
    name="directrank",
    add_completion=True,
    rich_markup_mode=None,  # the plain help never cuts a default, and imports nothing
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn to rank by directly optimising the measure you report: AP, nDCG, P@k, RR, ERR.\n\n"
    "Try it with `directrank demo`: no data needed.",
    epilog="Exit codes: 0 done, 2 wrong usage, 3 unusable data, 4 a method failed, "
    "5 a stated condition does not hold, 130 interrupted.",
)


def _print_version(requested: bool) -> None:
    if requested:
        from directrank import __version__

        commit = _commit()
        typer.echo(f"directrank {__version__}" + (f" (commit {commit})" if commit else ""))
        raise typer.Exit


def _commit() -> str:
    """Return the commit of the sources: that of the build, or of the checkout that they lie in."""
    import subprocess

    package = Path(__file__).parents[1]
    checkout = package.parents[1]
    try:
        if (checkout / ".git").exists():
            command = ("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
            description = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
            return description.stdout.strip()
        return (package / "COMMIT").read_text(encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        return ""


@app.callback()
def directrank(
    version: Annotated[
        bool, option("--version", "Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, option("--debug", "Print the full traceback of a failure.")] = False,
) -> None:
    """Read the options before a command."""


#: What runs. Called itself, `app` would make every command anew at each call of a process.
group = typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    open_closed_streams()
    typed = list(sys.argv[1:] if arguments is None else arguments)
    # --debug is accepted anywhere, because people append it to a line that has failed.
    words = [word for word in typed if word != "--debug"]
    if len(words) < len(typed):
        words.insert(0, "--debug")
    try:
        code = group(words or ["--help"], prog_name="directrank", standalone_mode=False)
    except Exception as error:
        return usage_problem(error)
    return code if isinstance(code, int) else 0

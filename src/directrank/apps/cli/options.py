"""Options of the commands, each written once, with its sentence; `expanded` makes those of a command.

A command's docstring has a line for each of its own: the metavar of an argument, or flags and metavar of an
option, and a sentence. Its signature has their types and defaults: arguments before the asterisk, options
behind it. Options that several commands have are annotated with their declaration, or fields of a dataclass.
"""

import os
import re
from ast import get_docstring, parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, getdoc, getsource, signature
from pathlib import Path
from textwrap import dedent
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

from directrank.apps.cli.failures import UsageError
from directrank.apps.experiments.options import Options
from directrank.data.reading_options import MISSING as NAN
from directrank.data.reading_options import ReadOptions, TableOptions
from directrank.errors import documentation_page, of_option
from directrank.estimators.literals import value_of
from directrank.registries import of_other_packages

#: Marks the type of a file or a folder to write; an empty name is refused.
_WRITTEN = "written"
Target = Annotated[Path, _WRITTEN]
#: A line of a docstring about an argument or an option, and those that go on from it.
_LINE = re.compile(r"^(-\S.*?|[A-Z[][]A-Z… |[]*): (.*(?:\n {4,}.*)*)$", re.M)
#: ``penalty=0.1``, ``ranksvm.penalty=0.1``, ``adarank(P(rel=2)@5).rounds=30``, ``xgboost:rank:map.gamma=1``.
_SETTING = re.compile(r"((?:[A-Za-z][\w:.-]*(?:\(.*\))?\.)?[A-Za-z_]\w*)=(.*)", re.S)


def option(flags: str, text: str, **more: Any) -> Any:
    """Return an option; `flags` are its names and then its metavar, such as ``-o --out FILE``."""
    words = flags.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return typer.Option(*words, metavar=metavar, help=text, **more)


def _path(text: str | Path) -> Path:
    if not os.fspath(text):
        raise typer.BadParameter("the name is empty; name a file or a folder")
    return Path(text)


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument."""
    return typer.Argument(metavar=metavar, help=text)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters that are declared as options typer understands.

    A declaration is a line of its docstring, or annotates a type with a tuple: flags, sentence and perhaps a
    check. A parameter of a dataclass becomes an option for each of its declared fields, or for those that the
    annotation names. The command receives values that are parsed from the typed text by their type, and
    checked.
    """
    text, parameters = _declared(command)
    options = [typed for parameter in parameters for typed in _typed(parameter)]

    @wraps(command)
    def run(**words: Any) -> Any:
        return command(
            **{
                parameter.name: _value(parameter.name, parameter.annotation, words)
                for parameter in parameters
            }
        )

    run.__dict__["__signature__"] = signature(command).replace(parameters=options)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    run.__doc__ = text
    return run


def docstring(command: Callable[..., Any]) -> str:
    """Return the docstring of a command, also where `python -OO` has removed it."""
    return getdoc(command) or get_docstring(parse(dedent(getsource(command))).body[0]) or ""  # pyright: ignore[reportArgumentType]


def _declared(command: Callable[..., Any]) -> tuple[str, list[Parameter]]:
    """Return the docstring of a command without the lines about its parameters, and these with their lines.

    Arguments have lines in their order, options that of the parameter which their first long flag names.
    """
    text = docstring(command)
    metavars, flags = [], {}
    for head, sentence in _LINE.findall(text):
        declaration = head, re.sub(r"\s+", " ", sentence).replace(" [default", "  [default")
        if head.startswith("-"):
            flags[re.findall(r"--([\w-]+)", head)[0].replace("-", "_")] = declaration
        else:
            metavars.append(declaration)
    parameters = []
    for parameter in signature(command).parameters.values():
        kind, name = parameter.annotation, parameter.name
        if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and not _is_option(kind):
            kind = Annotated[kind, argument(*(metavars.pop(0) if metavars else (name.upper(), "")))]
        elif name in flags:
            kind = Annotated[kind, flags.pop(name)]
        parameters.append(parameter.replace(annotation=kind))
    unknown = [*metavars, *flags.values()]
    assert not unknown, f"{command.__name__} has no parameters for the lines {unknown}"
    return _LINE.sub("", text).rstrip(), parameters


def _is_option(kind: Any) -> bool:
    return is_dataclass(kind) or get_origin(kind) is Annotated


def _fields(kind: Any) -> list[Field] | None:
    """Return the fields of a dataclass that are options; None of another type."""
    kind, *names = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    if not is_dataclass(kind):
        return None
    declared = {field.name: field for field in fields(kind) if _is_option(field.type)}
    return [declared[name] for name in (names[0] if names else declared)]


def _typed(parameter: Parameter) -> list[Parameter]:
    """Return the parameters for typer, whose values are typed, that stand for one of a command."""
    kind, inner = parameter.annotation, _fields(parameter.annotation)
    if inner is not None:
        return [
            typed
            for field in inner
            for typed in _typed(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            )
        ]
    declared = _declaration(kind)
    if declared is None:
        return [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
    kind, default = get_args(kind)[0], parameter.default
    flags, sentence, *_ = declared
    marks = (*get_args(kind), *get_args(parameter.annotation))
    if kind == str | os.PathLike | None or Target in marks or _WRITTEN in marks:
        kind = Path | None if NoneType in get_args(kind) else Path
        how = option(flags, sentence, parser=_path)
    elif default is True and flags.startswith("--no-"):
        how = typer.Option(f" /{flags}", help=sentence, show_default=False)
    else:
        how = option(flags, sentence)
        if os.PathLike in get_args(kind):  # a path, or other text
            kind = str | None
        elif any(get_origin(one) in (Mapping, Sequence) for one in (kind, *get_args(kind))):
            kind, default = list[str] | None, list(default) if type(default) is tuple and default else None
        elif kind is Any or kind in PARSERS:
            kind = str | None
    kind = Annotated[kind, how]
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY, default=default, annotation=kind)]


def _declaration(kind: Any) -> tuple | None:
    metadata = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((declared for declared in metadata if type(declared) is tuple), None)


def _value(name: str, kind: Any, words: Mapping[str, Any], *, checked: bool = True) -> Any:
    """Return the value of a parameter of a command, or of a field, from what was typed."""
    if (inner := _fields(kind)) is not None:
        values = {
            field.name: _value(field.name, field.type, words, checked=False)
            for field in inner
            if _fields(field.type) or words.get(field.name) is not None
        }
        return (get_args(kind) or (kind,))[0](**values)
    word, declared = words[name], _declaration(kind)
    if declared is None:
        return word
    kind = get_args(kind)[0]
    if word is None and NoneType in get_args(kind):
        return None
    parse = PARSERS.get(kind)
    if parse is not None:
        word = parse(declared[0].split()[0], () if word is None else word)
    for check in declared[2:] if checked else ():  # a dataclass checks its fields
        with of_option(name):
            word = check(word)
    return word


def names(text: str) -> list[str]:
    """Split a list of names at the commas outside brackets and quotes."""
    from directrank.measures.names import split_specs

    return split_specs(text)


def assignments(flag: str, words: Sequence[str], parse: Callable[[str], Any]) -> dict[str, Any]:
    """Return names and values of words such as ``penalty=0.1``."""
    values = {}
    for word in words:
        match = _SETTING.fullmatch(word)
        if match is None:
            raise UsageError(f"{flag} {word}: expected NAME=VALUE, such as penalty=0.1")
        name, text = match.groups()
        if name in values:
            raise UsageError(f"{flag} {name} is given twice")
        values[name] = parse(text)
    return values


def _grades(flag: str, words: Sequence[str]) -> dict[float, float]:
    grades = {}
    for word in words:
        code, _, grade = word.partition("=")
        if not all(isinstance(value_of(number), int | float) for number in (code, grade)):
            raise UsageError(f"{flag} {word}: expected CODE=GRADE, two numbers, such as 1=4")
        grades[float(code)] = float(grade)
    return grades


def _missing_rule(_: str, text: str) -> str | float:
    try:
        return text if text == NAN else float(text)
    except ValueError:
        return text


def _names(_: str, words: Sequence[str]) -> list[str]:
    return [name for word in words for name in names(word)]


def _seeds(flag: str, words: Sequence[str]) -> list[int]:
    text = ",".join(words)
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise UsageError(f"{flag} {text}: expected numbers with commas, such as 0,1,2") from None


#: How values of a type that typer does not know are typed. Parsers take the flag and the typed text; those
#: of lists and mappings the texts of all times that the option was given, which add up.
PARSERS: dict[Any, Callable[[str, Any], Any]] = {
    Sequence[Any] | Any: _names,
    Sequence[str]: _names,
    Sequence[int]: _seeds,
    # A gate whose text is empty, as of a variable that is not set, is no gate that passes.
    Sequence[str] | Mapping[str, float]: lambda _, words: [
        name for word in words for name in names(word) or [""]
    ],
    str | float | None: _missing_rule,
    Mapping[str, str]: lambda _, words: {
        role: name for role, _, name in (one.partition("=") for word in words for one in names(word))
    },
    Mapping[float, float]: _grades,
    Mapping[str, Any]: lambda flag, words: assignments(flag, words, value_of),
    Mapping[str, Sequence[Any]]: lambda flag, words: assignments(
        flag, words, lambda text: [value_of(value) for value in names(text)]
    ),
}
PARSERS |= {kind | None: parse for kind, parse in PARSERS.items()}


def _load_plugins(ctx: typer.Context, files: list[Path] | None) -> list[Path] | None:
    """Load the plug-ins of installed packages and of files, when their option is read."""
    # Where there are none, commands that train nothing need not import all rankers.
    if not ctx.resilient_parsing and (files or of_other_packages()):
        from directrank.plugins import load_entry_points, load_plugin

        load_entry_points()
        for file in files or ():
            load_plugin(file)
    return files


Plugin = Annotated[
    list[Path] | None,
    option(
        "--plugin FILE.py",
        f"A Python file with your own measures, surrogates or methods ({documentation_page('plugins')}). "
        "It is run: do not load files you do not trust. May be repeated.",
        callback=_load_plugins,
    ),
]
Model = Annotated[
    Path,
    argument(
        "MODEL",
        "A model of `directrank fit`, weights of `tune` (JSON), or a model of LightGBM (text), XGBoost (JSON "
        "or UBJSON) or RankLib (text).",
    ),
]
JSON = Annotated[bool, ("--json", "Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, ("-q --quiet", "Print results only.")]
Verbose = Annotated[bool, ("-v --verbose", "Print all remarks of the data check, not the gravest alone.")]
Set = Annotated[Mapping[str, Any], ("--set NAME=VALUE", "Set a parameter of the method; may be repeated.")]


def declared(name: str, of: type = Options) -> tuple:
    """Return the declaration of an option, for other commands that have it."""
    return next(get_args(field.type)[1] for field in fields(of) if field.name == name)


_FLAG, _SENTENCE, _CHECK = declared("measures")
#: None if none is named, which the default is not.
Measures = Annotated[
    Sequence[Any] | Any | None, (_FLAG, f"{_SENTENCE}  [default: {', '.join(Options.measures)}]", _CHECK)
]
Convention = Annotated[str, declared("convention")]
Correction = Annotated[str, declared("correction")]
Family = Annotated[str, declared("family")]
Force = Annotated[bool, declared("force")]
Seed = Annotated[int, declared("seed")]
Scheduler = Annotated[Any, declared("scheduler")]


def _check_margins(words: Sequence[str] | Mapping[str, float]) -> dict[str, float]:
    """Return accepted losses by the names of measures, of words such as ``nDCG@10=.01``."""
    from directrank.measures import parse_measure

    pairs = words.items() if isinstance(words, Mapping) else (word.rpartition("=")[::2] for word in words)
    margins = {}
    for name, margin in pairs:
        try:
            number = float(margin)
        except ValueError:
            number = -1.0
        if not name or not 0 <= number < float("inf"):
            found = f"{name}={margin}" if name else margin or "no margin is given"
            raise ValueError(f"{found}: expected MEASURE=MARGIN, such as nDCG@10=.01")
        measure = parse_measure(name).name
        if measure in margins:
            raise ValueError(f"{measure} has two margins; give one")
        margins[measure] = number
    return margins


NotWorse = Annotated[
    Sequence[str] | Mapping[str, float],
    (
        "--not-worse MEASURE=MARGIN",
        "Exit with 5 unless the measure is shown to be above that of --baseline less the margin, such as "
        "nDCG@10=.01 (90 % interval of the difference); several with commas.",
        _check_margins,
    ),
]
TolerateUnclear = Annotated[
    bool, ("--tolerate-unclear", "Exit with 0 where the queries of --not-worse are too few to tell.")
]
WithoutSelf = Annotated[
    bool,
    ("--without-self", "Leave out documents that have the name of their query (ArguAna, Quora)."),
]


Grades = Annotated[Mapping[float, float], declared("grades", ReadOptions)]

#: How commands read files: documents, logs of features or judgments and runs.
_COLUMNS = (*(field.name for field in fields(TableOptions)), "first_feature")
_RUNS = ("missing", "qid", "label", "docid", "run_columns", "chunks", "chunk_score")
Reading = Annotated[ReadOptions, (*_COLUMNS, "verify")]
ReadingChunks = Annotated[ReadOptions, ("chunks", "chunk_score", *_COLUMNS, "verify")]
ReadingLogs = Annotated[ReadOptions, ("n_features", *_COLUMNS, "qrels", "log")]
ReadingRuns = Annotated[ReadOptions, _RUNS]
ReadingJudgments = Annotated[ReadOptions, (*_RUNS, "grades")]
ReadingStored = Annotated[ReadOptions, (*_RUNS, "grades", "verify")]

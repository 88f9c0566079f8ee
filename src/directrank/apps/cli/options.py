"""Options of the commands, each written once; `expanded` makes a command's parameters of its dataclasses."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer

from directrank.apps.cli.failures import UsageError
from directrank.apps.experiments.options import Columns, Option, Options, Roles
from directrank.errors import check_choice, documentation_page, of_option
from directrank.estimators.literals import value_of
from directrank.registries import of_other_packages

if TYPE_CHECKING:
    from directrank.estimators.ranker import Ranker
    from directrank.files import ReadOptions

#: ``penalty=0.1``, ``ranksvm.penalty=0.1``, ``adarank(P(rel=2)@5).rounds=30``, ``xgboost:rank:map.gamma=1``.
_SETTING = re.compile(r"((?:[A-Za-z][\w:.-]*(?:\(.*\))?\.)?[A-Za-z_]\w*)=(.*)", re.S)


def option(flags: str, text: str, **more: Any) -> Any:
    """Return an option; `flags` are its names and then its metavar, such as ``-o --out FILE``."""
    words = flags.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return typer.Option(*words, metavar=metavar, help=text, **more)


def target(flags: str, text: str) -> Any:
    """Return an option that names a file or a folder to write; an empty name is refused."""
    return option(flags, text, parser=_path)


def _path(text: str | Path) -> Path:
    if not os.fspath(text):
        raise typer.BadParameter("the name is empty; name a file or a folder")
    return Path(text)


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument."""
    return typer.Argument(metavar=metavar, help=text)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose parameters that are declared by an `Option` typer understands.

    A parameter of a dataclass becomes an option for each of its fields. The command receives values that are
    parsed from the typed text by their type, and checked.
    """
    declared = signature(command).parameters.values()
    options = [typed for parameter in declared for typed in _typed(parameter)]

    @wraps(command)
    def run(**words: Any) -> Any:
        return command(
            **{parameter.name: _value(parameter.name, parameter.annotation, words) for parameter in declared}
        )

    run.__dict__["__signature__"] = signature(command).replace(parameters=options)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    return run


def _typed(parameter: Parameter) -> list[Parameter]:
    """Return the parameters for typer, whose values are typed, that stand for one of a command."""
    kind = parameter.annotation
    if is_dataclass(kind):
        return [
            typed
            for field in fields(kind)
            if is_dataclass(field.type) or get_origin(field.type) is Annotated
            for typed in _typed(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            )
        ]
    if _option_of(kind) is None:
        return [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
    kind, declared = get_args(kind)
    default = parameter.default
    if kind == str | os.PathLike | None:
        kind, how = Path | None, target(*declared[:2])
    else:
        how = option(*declared[:2])
        if any(get_origin(one) in (Mapping, Sequence) for one in (kind, *get_args(kind))):
            kind, default = list[str] | None, list(default) if type(default) is tuple and default else None
        elif kind is Any or kind in PARSERS:
            kind = str | None
    kind = Annotated[kind, how]
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY, default=default, annotation=kind)]


def _option_of(kind: Any) -> Option | None:
    metadata = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((option for option in metadata if type(option) is Option), None)


def _value(name: str, kind: Any, words: Mapping[str, Any], *, checked: bool = True) -> Any:
    """Return the value of a parameter of a command, or of a field, from what was typed."""
    if is_dataclass(kind):
        values = {
            field.name: _value(field.name, field.type, words, checked=False)
            for field in fields(kind)
            if is_dataclass(field.type) or words.get(field.name) is not None
        }
        return kind(**values)  # pyright: ignore[reportCallIssue]
    word, declared = words[name], _option_of(kind)
    if declared is None:
        return word
    parse = PARSERS.get(get_args(kind)[0])
    if parse is not None:
        word = parse(declared.flags.split()[0], () if word is None else word)
    if not checked:  # a dataclass checks its fields
        return word
    with of_option(name):
        return declared.check(word)


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


def _missing_rule(flag: str, text: str) -> str | float:
    from directrank.data.columns import MISSING_RULES

    if text in MISSING_RULES:
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{flag} {text}: expected nan, error, query_min or a number") from None


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
JSON = Annotated[bool, option("--json", "Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, option("-q --quiet", "Print results only.")]
Verbose = Annotated[
    bool, option("-v --verbose", "Print all remarks of the data check, not the gravest alone.")
]
Set = Annotated[
    Mapping[str, Any], Option("--set NAME=VALUE", "Set a parameter of the method; may be repeated.")
]


def declared(name: str) -> Option:
    """Return the option of a comparison, for other commands that have it."""
    kind = next(field.type for field in fields(Options) if field.name == name)
    return get_args(kind)[1]


Measures = Annotated[Sequence[Any] | Any, declared("measures")]
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
    Option(
        "--not-worse MEASURE=MARGIN",
        "Exit with 5 unless the measure is shown to be above that of --baseline less the margin, such as "
        "nDCG@10=.01 (90 % interval of the difference); several with commas.",
        _check_margins,
    ),
]
TolerateUnclear = Annotated[
    bool, Option("--tolerate-unclear", "Exit with 0 where the queries of --not-worse are too few to tell.")
]
Chunks = Annotated[
    str | None,
    Option(
        "--chunks SEPARATOR",
        "Ranked documents are chunks: what is before their number, such as '#' in doc7#3, or a table of "
        "chunk and document.",
    ),
]
ChunkScore = Annotated[str, Option("--chunk-score RULE", "Score of a document of chunks: max, sum or first.")]
WithoutSelf = Annotated[
    bool,
    Option("--without-self", "Leave out documents that are called like their query (ArguAna, Quora)."),
]


@dataclass(frozen=True, kw_only=True)
class WithRuns(Roles):
    """How judgments and runs are read."""

    run_columns: Annotated[
        Sequence[str],
        Option(
            "--run-columns ROLES",
            "Columns of tables of runs: qid=…,docid=…,score=… or rank=…  [default: by their names; the only "
            "other number is the score]",
        ),
    ] = ()
    chunks: Chunks = None
    chunk_score: ChunkScore = "max"

    def how(self, **values: Any) -> "ReadOptions":
        """Return how to read a file, with the columns of runs by their role."""
        with of_option("chunk_score"):
            check_choice("chunk_score", self.chunk_score, ("max", "sum", "first"))
        with of_option("run_columns"):
            words = (word.partition("=") for word in self.run_columns)
            return super().how(**values, run_columns={role: name for role, _, name in words})


Grades = Annotated[
    Mapping[float, float],
    Option("--grade CODE=GRADE", "Grade in place of a code of the judgments; may be repeated."),
]


@dataclass(frozen=True, kw_only=True)
class WithJudgments(WithRuns):
    """How judgments with codes in place of grades, and runs, are read."""

    grades: Grades = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Letor:
    """How LETOR text is read."""

    first_feature: Annotated[
        int | None,
        option(
            "--first-feature N",
            "Number of the first feature of LETOR text, 0 or 1.  [default: 1]",
            min=0,
            max=1,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Stored:
    """How a store is read."""

    no_verify: Annotated[
        bool, option("--no-verify", "Do not compare the features of a store with their digests.")
    ] = False

    @property
    def verify(self) -> bool:
        """Whether to compare the features with their digests."""
        return not self.no_verify


@dataclass(frozen=True, kw_only=True)
class Judging(Stored, WithJudgments):
    """How judged documents are read."""


@dataclass(frozen=True, kw_only=True)
class Converting(Letor, Columns):
    """How files of documents are read."""

    qrels: Annotated[
        Path | None,
        option(
            "--qrels FILE",
            "TREC qrels: DATA is a JSON log of features of Elasticsearch LTR, OpenSearch LTR or Solr, and "
            "--qid and --docid are keys, such as responseHeader.params.q.",
        ),
    ] = None
    log: Annotated[
        str | None,
        option(
            "--log NAME", "The log, if a hit has several; or Solr's field of features.  [default: [features]]"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Reading(Stored, Letor, Columns):
    """How documents are read, of files or a store."""

    def how_for(self, ranker: "Ranker") -> "ReadOptions":
        """Return how to read a file for a ranker: the features that it needs, and as in training."""
        return ranker.read_options(self.how())

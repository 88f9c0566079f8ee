"""The table of all measures, and from a name to a measure."""

import difflib
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import MeasureNameError
from directrank.measures.average_precision import AP
from directrank.measures.dcg import DCG, NDCG, GradedGains, MeanNDCG, gains_in
from directrank.measures.err import ERR, NERR
from directrank.measures.families.definition import Definition, split_name
from directrank.measures.pairwise import WPD, ZeroOne
from directrank.measures.precision import WTA, P, R, Rprec
from directrank.measures.rank_biased_precision import RBP
from directrank.measures.reciprocal_rank import RR, Success
from directrank.registries import bundled

#: The measures of the core, in order of importance.
CORE: tuple[type[Definition], ...] = (
    NDCG, AP, P, RR, R, Success, Rprec, RBP, ERR, NERR, WTA, WPD, ZeroOne, DCG, MeanNDCG,
)  # fmt: skip
#: Every measure, in the order of printing; bundled plug-ins are loaded when it is first read.
MEASURES: tuple[type[Definition], ...]

#: Custom measures that have a name, by name: classes, whose names may have parameters and a cutoff, and
#: objects. `directrank.plugins` fills it.
OWN: dict[str, type[Definition] | Measure] = {}


#: The measure of `score`, of choices among iterates, rounds and points of a grid, and of the demos, where no
#: other is named.
DEFAULT_MEASURE = "nDCG@10"
_DEFAULT = NDCG(10)
#: The same on real labels of logs, which nDCG does not take.
DEFAULT_OF_REAL_LABELS = "ClickDCG@10"
# The first word of a name.
_WORD = re.compile(r"\s*([^\s()@=,]+)")
# trec_eval writes a cutoff after an underscore or a dot: ndcg_cut_10, P.5.
_TREC_CUTOFF = re.compile(r"\s*([A-Za-z_]+?)[_.]([0-9]+)\s*")
# A cutoff without its @: NDCG10, map-5.
_NO_AT = re.compile(r"([A-Za-z_]+)[- ]?([0-9]+)")


def __getattr__(name: str) -> tuple[type[Definition], ...]:
    if name != "MEASURES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, (*CORE, *bundled("measures")))


def _measures() -> tuple[type[Definition], ...]:
    """Return `MEASURES`, which may be read for the first time."""
    return globals().get("MEASURES") or __getattr__("MEASURES")


def split_specs(text: str) -> list[str]:
    """Split ``adarank(nDCG(dcg='log2')@5),regression`` at the commas outside brackets and quotes."""
    pieces, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter == "(") - (letter == ")") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]


def parse_measure(name: "str | Measure") -> Measure:
    """Return the measure of a name.

    Parameters
    ----------
    name : str or Measure
        A name in the grammar of ir_measures, such as ``nDCG@10``, ``AP(rel=2)``, ``ERR(max=4)@20``, in any
        case. ``nDCG`` has the gain 2^y − 1 here, which ir_measures writes ``nDCG(dcg='exp-log2')``. Names of
        trec_eval (``ndcg``, ``ndcg_cut_10``, ``map``, ``P_5``, ``recip_rank``) are its measures: ``ndcg``, in
        small letters without ``@``, and ``ndcg_cut`` have the gain y. A `Measure` is returned unchanged, and
        an object of ir_measures is read by its name, with a warning where that is another measure here.

    Returns
    -------
    Measure

    Raises
    ------
    MeasureNameError
        If the name is not in the grammar, or no measure has it.

    Examples
    --------
    >>> parse_measure("ndcg_cut_10").name, parse_measure("MAP").name
    ("nDCG(dcg='log2')@10", 'AP')
    """
    if not isinstance(name, str):
        if isinstance(name, type):
            raise TypeError(f"{name.__name__} is a class; give a measure, such as {name.__name__}()")
        if type(name).__module__.partition(".")[0] == "ir_measures":
            return _of_ir_measures(name)
        if not isinstance(name, Measure):
            raise TypeError(f"{name!r} is no measure; give a name, such as nDCG@10, or a Measure")
        return name
    plugged = OWN.get(name.strip())
    if plugged is not None and not isinstance(plugged, type):
        return plugged
    custom = {cls.bare_name.lower(): cls for cls in OWN.values() if isinstance(cls, type)}
    classes, word = {**_words(CORE), **custom}, _WORD.match(name)
    if word is None or word[1].lower() not in classes:
        classes = {**_words(_measures()), **custom}
    return _parsed(name, classes)


def with_gains(name: "str | Measure", gains: str) -> Measure:
    """Return a measure with a gain for each grade from 0, such as ``0,1,3,7``, if it has a gain by default.

    Raises MeasureNameError if these are no gains.
    """
    measure = parse_measure(name)
    if isinstance(measure, GradedGains) and not measure.printed():
        return measure.with_gains(gains_in(gains))
    return measure


def _of_ir_measures(measure: object) -> Measure:
    """Return the measure that an object of ir_measures names; warn if its gain is not the same."""
    ours = parse_measure(str(measure))
    if isinstance(ours, NDCG) and "dcg" not in getattr(measure, "params", {}):
        linear = ours.bare_name + f"(dcg='log2'){ours.name.removeprefix(ours.bare_name)}"
        warnings.warn(
            f"{ours.name} has the gain 2^y - 1 here, and y in ir_measures: name {linear} for that",
            UserWarning,
            stacklevel=3,
        )
    return ours


def default_measure(queries: Queries) -> Measure:
    """Return the measure of some queries where no other is named."""
    return parse_measure(DEFAULT_OF_REAL_LABELS) if queries.real else _DEFAULT


def distinct_measures(measures: "str | Measure | Iterable[str | Measure]") -> tuple[Measure, ...]:
    """Return the measures of names and objects, each once; of one name or object, that measure.

    Raises MeasureNameError if two different measures have one name, or one has the name of a measure of
    directrank.
    """
    by_name: dict[str, Measure] = {}
    names: Any = measures if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    for measure in map(parse_measure, names):
        check_not_taken(measure)
        if not _same(by_name.setdefault(measure.name, measure), measure):
            raise MeasureNameError(
                f"two different measures are called {measure.name}; give one of them another name"
            )
    return tuple(by_name.values())


def name_of(measure: "str | Measure | None") -> str | None:
    """Return the canonical name of a measure, or None for none."""
    return None if measure is None else parse_measure(measure).name


def is_own(measure: Measure) -> bool:
    """Whether a measure is defined outside directrank."""
    return type(measure) not in CORE and type(measure) not in _measures()


def check_not_taken(measure: Measure) -> None:
    """Raise `MeasureNameError` if a custom measure has a name that is directrank's."""
    if not is_own(measure):
        return
    try:
        other = _parsed(measure.name, _words(_measures()))
    except MeasureNameError:
        return
    raise MeasureNameError(
        f"{type(measure).__name__}: the name {measure.name} is that of directrank's {type(other).__name__}; "
        "give the measure another bare_name"
    )


def _same(first: Measure, other: Measure) -> bool:
    """Whether two measures of one name are the same: equal, or of one class and with equal attributes."""
    if first == other:
        return True
    try:
        return type(first) is type(other) and bool(vars(first) == vars(other))
    except ValueError:  # arrays have no one truth
        return False


def _words(measures: Iterable[type[Definition]]) -> dict[str, type[Definition]]:
    """Return measures by all their names, in lower case."""
    return {word.lower(): measure for measure in measures for word in (measure.bare_name, *measure.aliases)}


def _parsed(name: str, classes: Mapping[str, type[Definition]]) -> Measure:
    """Return the measure of a name."""
    first, _, cut = name.strip().lower().partition("@")
    if first not in classes or cut.endswith("-"):
        from directrank.measures.other_names import translated

        name = translated(name)
    trec = _TREC_CUTOFF.fullmatch(name)
    word, written, cutoff = (trec[1], {}, int(trec[2])) if trec else split_name(name)
    if trec and word.lower() == "rbp" and "." in name:  # ranx writes the persistence so: rbp.95
        written, cutoff = {"p": f"0.{trec[2]}"}, None
    if word.lower() == "ndcg_cut" or name.strip() == "ndcg":
        written = {"dcg": "log2", **written}  # trec_eval's gain is the grade
    if word.lower() in ("num_rel_ret", "numrelret"):
        written = {"rel": "1", **written}
    if word.lower() not in classes:
        raise MeasureNameError(_unknown(name, word, classes))
    measure = classes[word.lower()]
    arguments, readers = {}, measure.readers()
    if {"dcg", "gains"} <= {*written}:
        raise MeasureNameError(f"{name!r}: give dcg or gains, not both")
    for parameter, value in written.items():
        if parameter not in readers:
            offered = ", ".join(readers) or "none"
            raise MeasureNameError(
                f"{measure.bare_name} has no parameter {parameter} ({name!r}); it has: {offered}"
            )
        arguments.update(readers[parameter](value))
    if measure.cutoff_is() != "none":
        arguments["cutoff"] = cutoff
    elif cutoff is not None:
        raise MeasureNameError(f"{measure.bare_name} takes no cutoff ({name!r})")
    return measure(**arguments)


def _unknown(name: str, word: str, classes: Mapping[str, type[Definition]]) -> str:
    no_at = _NO_AT.fullmatch(name.strip())
    near = difflib.get_close_matches(word.lower(), classes, n=1, cutoff=0.5)
    if no_at and no_at[1].lower() in classes:
        guess = f" Did you mean {classes[no_at[1].lower()].bare_name}@{no_at[2]}?"
    elif word.lower() in ("auc", "roc_auc"):
        guess = " Did you mean WPD(complement=1)? It is that area for two grades."
    else:
        guess = f" Did you mean {name.strip().replace(word, classes[near[0]].bare_name, 1)}?" if near else ""
    every = dict.fromkeys([*(cls.bare_name for cls in classes.values()), *OWN])
    return f"no measure is called {name!r}.{guess} Known: {', '.join(every)}"

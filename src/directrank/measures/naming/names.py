"""From a name to a measure."""

import difflib
import re
from typing import Any

from directrank.contracts import Measure
from directrank.errors import MeasureNameError
from directrank.measures.naming.grammar import split_name

# trec_eval writes a cutoff after an underscore: ndcg_cut_10, P_5.
_TREC_CUTOFF = re.compile(r"\s*([A-Za-z_]+?)_([0-9]+)\s*")


def parse_measure(name: "str | Measure") -> Measure:
    """Return the measure of a name.

    Parameters
    ----------
    name : str or Measure
        In the grammar of ir_measures, such as ``nDCG@10``, ``AP(rel=2)``, ``ERR(max=4)@20``; words of other
        tools (``ndcg_cut_10``, ``MAP``, ``mrr``) are understood, in any case. Note that our ``nDCG`` has the
        gain 2^y − 1 and is ir_measures' ``nDCG(dcg='exp-log2')``. A measure is returned as it is.

    Raises
    ------
    MeasureNameError
        If the name is not in the grammar, or no measure has it.

    Examples
    --------
    >>> parse_measure("ndcg_cut_10").name, parse_measure("MAP").name
    ('nDCG@10', 'AP')
    """
    if not isinstance(name, str):
        return name
    trec = _TREC_CUTOFF.fullmatch(name)
    word, written, cutoff = (trec[1], {}, int(trec[2])) if trec else split_name(name)
    known = _known_words()
    if word.lower() not in known:
        raise MeasureNameError(_unknown(name, word, known))
    measure = known[word.lower()]
    arguments = {}
    for parameter, value in written.items():
        if parameter not in measure.parameters:
            offered = ", ".join(measure.parameters) or "none"
            raise MeasureNameError(
                f"{measure.bare_name} has no parameter {parameter} ({name!r}); it has: {offered}"
            )
        arguments.update(measure.parameters[parameter](value))
    if measure.cutoff_is == "none" and cutoff is not None:
        raise MeasureNameError(f"{measure.bare_name} takes no cutoff ({name!r})")
    return measure(**arguments) if measure.cutoff_is == "none" else measure(cutoff, **arguments)


def known_names() -> list[str]:
    """Return the canonical word of every measure, in order of importance."""
    from directrank.measures import MEASURES  # late: the tuple is made above this module

    return [measure.bare_name for measure in MEASURES]


def _known_words() -> dict[str, Any]:
    from directrank.measures import MEASURES  # late: the tuple is made above this module

    return {word.lower(): each for each in MEASURES for word in (each.bare_name, *each.aliases)}


def _unknown(name: str, word: str, known: dict[str, Any]) -> str:
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    guess = f" Did you mean {name.strip().replace(word, known[near[0]].bare_name, 1)}?" if near else ""
    return f"no measure is called {name!r}.{guess} Known: {', '.join(known_names())}"

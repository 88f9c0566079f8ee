"""From a name to a measure."""

import difflib
import re

from directrank.contracts import Measure
from directrank.errors import MeasureNameError
from directrank.measures.families.definition import Definition
from directrank.measures.naming.grammar import split_name
from directrank.measures.table import MEASURES

# trec_eval writes a cutoff after an underscore: ndcg_cut_10, P_5.
_TREC_CUTOFF = re.compile(r"\s*([A-Za-z_]+?)_([0-9]+)\s*")


def parse_measure(name: "str | Measure") -> Measure:
    """Return the measure of a name.

    Parameters
    ----------
    name : str or Measure
        A name in the grammar of ir_measures, such as ``nDCG@10``, ``AP(rel=2)``, ``ERR(max=4)@20``. Names of
        other tools (``ndcg_cut_10``, ``MAP``, ``mrr``) are accepted, in any case. ``nDCG`` has the gain
        2^y − 1 here, which ir_measures writes ``nDCG(dcg='exp-log2')``. A `Measure` is returned unchanged.

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
    known = {each.lower(): measure for measure in MEASURES for each in (measure.bare_name, *measure.aliases)}
    if word.lower() not in known:
        raise MeasureNameError(_unknown(name, word, known))
    measure = known[word.lower()]
    arguments, readers = {}, measure.readers()
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


def _unknown(name: str, word: str, known: dict[str, type[Definition]]) -> str:
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.5)
    guess = f" Did you mean {name.strip().replace(word, known[near[0]].bare_name, 1)}?" if near else ""
    return f"no measure is called {name!r}.{guess} Known: {', '.join(each.bare_name for each in MEASURES)}"

"""Cases of measures with exact values, for checks of other implementations."""

from importlib.resources import files
from typing import Any

from directrank.storage.strict_json import parse


def measure_vectors() -> list[dict[str, Any]]:
    """Return cases of measures with their values, by enumeration.

    Each has a ``name``, a ``measure``, the rules for ``ties`` and ``empty`` queries, the columns ``qid``,
    ``relevance`` and ``scores``, the mean ``value``, and ``exact``, that as a fraction where it is one.

    Returns
    -------
    list of dict
    """
    return parse((files("directrank.apps.evaluation") / "vectors.json").read_bytes())

"""What results say of measures that are none of directrank's: they are read where the code is not there."""

from collections.abc import Mapping
from typing import Any

from directrank.contracts import Measure
from directrank.measures import parse_measure

#: Where results have it; absent if all measures are directrank's.
KEY = "own_measures"


def described_measures(own: Mapping[str, Measure]) -> dict[str, Any]:
    """Return what results say of measures of one's own; nothing without any."""
    described = {
        name: {"name": each.bare_name, "meaning": each.meaning, "is_error": each.is_error}
        for name, each in own.items()
    }
    return {KEY: described} if described else {}


def is_error(summary: Mapping[str, Any], measure: str) -> bool:
    """Whether a measure of some results is printed as an error, so that smaller is better."""
    own = summary.get(KEY, {}).get(measure)
    return parse_measure(measure).is_error if own is None else own["is_error"]


def meaning(summary: Mapping[str, Any], measure: str) -> tuple[str, str]:
    """Return the name without parameters of a measure of some results, and its sentence for newcomers."""
    own = summary.get(KEY, {}).get(measure)
    if own is not None:
        return own["name"], own["meaning"]
    found = parse_measure(measure)
    return found.bare_name, found.meaning

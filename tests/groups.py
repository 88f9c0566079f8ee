"""The two groups of tests: one for every change, and one (marker `heavy`) of which .ci/run adds a part."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def first_group(cases: Iterable[Any], is_first: Callable[[Any], bool]) -> list[Any]:
    """Return cases of a test; those of which `is_first` is false are in the second group."""
    return [case if is_first(case) else pytest.param(case, marks=pytest.mark.heavy) for case in cases]


def in_turn(name: str, families: Sequence[Sequence[Any]], ids: Callable[[Any], str]) -> Callable:
    """Return a decorator that gives a test all cases; the first group has one case of each family.

    Which one depends on the name of the test, so that other tests have other cases in the first group.
    """

    def decorate(test: Any) -> Any:
        turn = sum(test.__name__.encode())
        chosen = [family[turn % len(family)] for family in families]
        cases = first_group(
            (each for family in families for each in family), lambda each: any(each is one for one in chosen)
        )
        return pytest.mark.parametrize(name, cases, ids=ids)(test)

    return decorate

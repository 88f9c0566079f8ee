"""The two groups of tests: one for every change, and one (marker `heavy`) that .ci/run adds."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def first_group(cases: Iterable[Any], is_first: Callable[[Any], bool]) -> list[Any]:
    """Return cases of a test; those of which `is_first` is false are in the second group."""
    return [case if is_first(case) else pytest.param(case, marks=pytest.mark.heavy) for case in cases]

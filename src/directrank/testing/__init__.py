"""Synthetic collections, and checks of measures, surrogates, solvers and methods.

The tests of directrank and `directrank check` run the same checks. Public names are imported on first use.
"""

from typing import TYPE_CHECKING

from directrank.lazy import lazy_names

if TYPE_CHECKING:
    from directrank.testing.synthetic import make_ranking

__all__ = ["make_ranking"]

__getattr__ = lazy_names(__name__)

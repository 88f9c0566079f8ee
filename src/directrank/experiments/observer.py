"""Who watches a comparison: the joint to progress bars."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from directrank.experiments.plan import Plan


class Observer:
    """Told what happens, in order; this one says nothing."""

    def planned(self, plan: "Plan") -> None:
        """Called once, before anything is read or trained."""

    def checked(self, lines: list[str]) -> None:
        """Called with what the data check found, in words."""

    def starting(self, fold: str, method: str, n_points: int) -> None:
        """Called before a method is trained on a fold, at so many points of its grid."""

    def fitted(self) -> None:
        """Called after each fit."""

    def finished(self, cell: dict[str, Any], reused: bool) -> None:
        """Called with the record of each cell, once it is kept."""

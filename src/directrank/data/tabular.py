"""What notebooks show of a result: a data frame, a table of HTML and a picture of bars."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

#: The most rows of a table, and bars of a picture, that are shown.
SHOWN = 20


class Bars(NamedTuple):
    """Bars from the first one down: what they are of, a name and a value each, and the ends of intervals."""

    of: str
    names: Sequence[str]
    values: Sequence[float]
    ends: Sequence[tuple[float, float]] | None = None


class Tabular(ABC):
    """A result that is a table: a class gives its columns, its title and its bars."""

    @abstractmethod
    def _table(self) -> Mapping[str, Any]:
        """Return the columns by name."""

    @abstractmethod
    def _title(self) -> str:
        """Return a line above the table."""

    @abstractmethod
    def _bars(self) -> Bars:
        """Return the bars of the picture."""

    def _first_rows(self) -> tuple[Mapping[str, Any], int]:
        """Return the columns with the rows to show, and how many there are in all."""
        table = self._table()
        return {name: column[:SHOWN] for name, column in table.items()}, len(next(iter(table.values()), ()))

    def to_frame(self) -> Any:
        """Return the rows as a data frame of pandas, or of polars where pandas is not installed.

        Returns
        -------
        DataFrame

        Raises
        ------
        ImportError
            If neither pandas nor polars is installed.
        """
        return frame_of(self._table())

    def _repr_html_(self) -> str:
        """Return the first rows as a table for notebooks."""
        table, count = self._first_rows()
        head = "".join(f"<th>{escape(str(name))}</th>" for name in table)
        rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in zip(*table.values(), strict=True))
        more = f"\n<p>… and {count - SHOWN:,} more</p>" if count > SHOWN else ""
        return f"<table>\n<caption>{escape(self._title())}</caption>\n<tr>{head}</tr>\n{rows}\n</table>{more}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the first rows as bars, with their intervals where there are some.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new picture by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("a picture needs matplotlib: pip install matplotlib") from None
        bars = self._bars()
        names, values = list(bars.names)[:SHOWN], list(bars.values)[:SHOWN]
        ax = pyplot.subplots(figsize=(6.4, 1.2 + 0.3 * len(names)))[1] if ax is None else ax
        places = range(len(names))
        ax.barh(places, values)
        if bars.ends is not None:
            ax.hlines(places, *zip(*bars.ends[:SHOWN], strict=True), color="black")
        # A dollar would begin a formula.
        ax.set_yticks(places, [name.replace("$", r"\$") for name in names])
        ax.invert_yaxis()
        ax.set_xlabel(bars.of)
        return ax


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f'<td style="text-align: right">{value:.4g}</td>'
    return f"<td>{'' if value is None else escape(str(value))}</td>"


def frame_of(table: Mapping[str, Any]) -> Any:
    """Return columns as a data frame of pandas, or of polars where pandas is not installed.

    Raises ImportError if neither is.
    """
    import narwhals as nw

    library: Any = next((library for library in ("pandas", "polars") if find_spec(library)), None)
    if library is None:
        raise ImportError("a data frame needs pandas or polars: pip install pandas")
    return nw.from_dict(dict(table), backend=library).to_native()

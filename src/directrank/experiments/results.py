"""The results of a comparison: values, files, and reading them back."""

import os
import statistics
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from directrank.errors import DataError
from directrank.experiments.options import STANDARD
from directrank.experiments.tables.formats import contrasts_csv, csv_text, latex, markdown, plain
from directrank.experiments.tables.layout import headline
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import StrictJSONError, as_plain, dump, parse

FORMAT = "directrank results 1"
COLUMNS = ("dataset", "method", "split", "fold", "measure", "value")
#: Methods that a representation shows.
SHOWN = 10
#: Formats of the table that is written with the results, by the ending of the file.
TABLES = {"txt": plain, "md": markdown, "tex": latex}


class Comparison:
    """The results of `compare`.

    Attributes
    ----------
    summary : dict
        Data set, options, methods, folds, data check, environment and command.
    cells : list of dict
        The record of every method on every fold; one that failed has ``"error"``.
    """

    def __init__(self, summary: dict[str, Any], cells: list[dict[str, Any]]):
        self.summary, self.cells = summary, cells
        self._by_method_and_fold = {(cell["method"], cell["fold"]): cell for cell in cells}

    def __repr__(self) -> str:
        table = headline(self, self.conventions[0])
        first = replace(table, caption="", rows=table.rows[:SHOWN])
        more = len(table.rows) - len(first.rows)
        return plain(first) + (f"\n… and {more} more" if more else "")

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.summary["dataset"]

    @property
    def methods(self) -> list[str]:
        """Labels of the methods, in the order requested."""
        return [method["label"] for method in self.summary["methods"]]

    @property
    def folds(self) -> list[str]:
        """Names of the folds."""
        return [fold["name"] for fold in self.summary["folds"]]

    @property
    def measures(self) -> list[str]:
        """Canonical names of the measures in the report."""
        return self.summary["measures"]

    @property
    def conventions(self) -> list[str]:
        """The conventions of the report: the requested one first, then the standard one if it differs."""
        return list(dict.fromkeys((self.summary["convention"], STANDARD)))

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The cells that failed."""
        return [cell for cell in self.cells if "error" in cell]

    def cell(self, method: str, fold: str) -> dict[str, Any]:
        """Return the record of a method on a fold."""
        return self._by_method_and_fold[method, fold]

    def value(
        self, method: str, fold: str, measure: str, convention: str, split: str = "test"
    ) -> float | None:
        """Return the value of a measure on one fold, in [0, 1]; None if the method failed there.

        It is also None where there is no such split: runs have no validation set.
        """
        cell = self.cell(method, fold)
        return None if "error" in cell else cell["values"][convention].get(split, {}).get(measure)

    def mean(self, method: str, measure: str, convention: str, split: str = "test") -> float | None:
        """Return the plain mean of the folds' values; None if the method failed on any of them."""
        values: list[Any] = [self.value(method, fold, measure, convention, split) for fold in self.folds]
        return None if None in values else statistics.fmean(values)

    def rows(self, convention: str) -> Iterator[tuple[str, str, str, str, str, float]]:
        """Yield the rows of a results file: one a method, split, fold and measure."""
        for row in product(self.methods, ("test", "vali"), self.folds, self.measures):
            method, split, fold, measure = row
            value = self.value(method, fold, measure, convention, split)
            if value is not None:
                yield self.dataset, *row, value

    def to_frame(self, convention: str | None = None) -> Any:
        """Return the values as a data frame of pandas, or of polars where pandas is not installed.

        Parameters
        ----------
        convention : str, optional
            One of `conventions`; the requested one by default.

        Returns
        -------
        DataFrame
            With the columns dataset, method, split, fold, measure and value.

        Raises
        ------
        ImportError
            If neither pandas nor polars is installed.
        """
        import narwhals as nw

        library: Any = next((each for each in ("pandas", "polars") if find_spec(each)), None)
        if library is None:
            raise ImportError("a data frame needs pandas or polars: pip install pandas")
        rows = list(self.rows(convention or self.conventions[0]))
        values: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
        return nw.from_dict(values, backend=library).to_native()

    def to_csv(self, convention: str) -> str:
        """Return the text of a results file; values have all their digits."""
        return csv_text(COLUMNS, self.rows(convention))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**self.summary, "cells": self.cells}

    def write(self, folder: str | os.PathLike) -> None:
        """Write the results and the table of the requested convention; each file is complete or unchanged.

        The files are results.csv, results.standard.csv, results.json, table.txt, table.md, table.tex and, if
        differences were tested, significance.csv.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        folder, convention = Path(folder), self.conventions[0]
        folder.mkdir(parents=True, exist_ok=True)
        table = headline(self, convention)
        texts = {
            "results.csv": self.to_csv(convention),
            "results.standard.csv": self.to_csv(STANDARD),
            "results.json": dump(as_plain(self.to_dict())) + "\n",
            **{f"table.{end}": form(table) + "\n" for end, form in TABLES.items()},
        }
        if "significance" in self.summary:
            texts["significance.csv"] = contrasts_csv(self, convention)
        for name, text in texts.items():
            write_atomically(folder / name, text)


def read_results(path: str | os.PathLike) -> Comparison:
    """Read the results of a comparison from its folder, or from its results.json.

    Raises
    ------
    DataError
        If there are none, or the file holds something else.
    """
    path = Path(path)
    file = path / "results.json" if path.is_dir() else path
    if not file.exists():
        raise DataError(f"{file}: no results here; `directrank compare DATA --out {path}` writes them")
    try:
        content = parse(file.read_bytes())
        if content["format"] != FORMAT:
            raise DataError(f"{file}: has format {content['format']!r}, this release reads {FORMAT!r}")
        result = Comparison(content, content.pop("cells"))
        # What the tables need must be there, and its values must be numbers.
        for convention in result.conventions:
            sum(row[-1] for row in result.rows(convention))
            headline(result, convention)
            tested = content.get("significance", {}).get(convention)
            for measure in result.measures if tested else ():
                sum(pair["difference"] for pair in tested["pairs"][measure])
    except (StrictJSONError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{file}: not results of directrank compare, or damaged ({type(error).__name__}: {error}). "
            "Rerun the same compare command: it rebuilds the file from the finished cells."
        ) from None
    return result

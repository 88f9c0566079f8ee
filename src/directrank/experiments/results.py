"""The results of a comparison: values, files, and reading them back."""

import hashlib
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
from directrank.experiments.records.of_results import check_results
from directrank.experiments.records.shapes import OddValueError
from directrank.experiments.tables.chosen import CHOSEN, chosen_cells
from directrank.experiments.tables.endings import MARK, unfinished
from directrank.experiments.tables.formats import contrasts_csv, csv_text, latex, markdown, plain
from directrank.experiments.tables.layout import Table
from directrank.experiments.tables.own_measures import is_error
from directrank.experiments.tables.seeds import seeds_note
from directrank.experiments.tables.winner import Winner, winner
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import StrictJSONError, as_plain, dump, parse

FORMAT = "directrank results 2"
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
        The record of every method on every fold; one that failed has ``"error"``. Those of the row "chosen on
        validation" come last.
    """

    def __init__(self, summary: dict[str, Any], cells: list[dict[str, Any]]):
        self.summary = summary
        derived = chosen_cells(cells, self.folds) if CHOSEN in self.methods else []
        self.cells = [*cells, *derived]
        self._by_method_and_fold = {(cell["method"], cell["fold"]): cell for cell in self.cells}

    def __repr__(self) -> str:
        table = self.headline(self.conventions[0])
        first = replace(table, caption="; ".join(self.computed(STANDARD)), rows=table.rows[:SHOWN])
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
    def trained(self) -> list[str]:
        """Labels of the methods without the row "chosen on validation"."""
        return [each for each in self.methods if each != CHOSEN]

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

    def is_error(self, measure: str) -> bool:
        """Whether a measure is printed as an error, so that smaller is better."""
        return is_error(self.summary, measure)

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

    def computed(self, convention: str) -> list[str]:
        """Return ``ERR is ERR(max=2)`` for each measure with a parameter of the convention or data."""
        names = (
            pair
            for cell in self.cells
            if "error" not in cell
            for pair in cell["computed"][convention].items()
        )
        return [f"{asked} is {full}" for asked, full in dict.fromkeys(names) if asked != full]

    def headline(self, convention: str) -> Table:
        """Return the means over folds on the test set: one row a method, one column a measure."""
        folds = f"mean of {len(self.folds)} folds" if len(self.folds) > 1 else "one fold"
        by = self.summary["select_by"]
        notes = [f"hyper-parameters chosen on validation by {by}"] if by else []
        tested = self.summary.get("significance", {}).get(convention)
        letters, marks, open_ended = [], [], unfinished(self)
        if tested and any(tested["pairs"].values()):
            rule = {"holm": "Holm", "bh": "Benjamini-Hochberg"}[tested["correction"]]
            notes.append(
                f">ab: significantly better than methods (a) and (b), randomisation test on queries, {rule}, "
                f"p < {tested['alpha']:g}"
            )
            letters = [tested["letters"].get(row, "") for row in self.methods]
            better = [tested["better_than"][name] for name in self.measures]
            marks = [[each.get(row, "") for each in better] for row in self.methods]
        # Under the standard convention, a measure is another one only where the data decide, as for ERR.
        notes += [*self.computed(STANDARD), *seeds_note(self)]
        if open_ended:
            notes.append(f"{MARK} not every model converged")
        return Table(
            f"{self.dataset}: {f'test, {folds}' if by else 'all queries'}, convention {convention}",
            "; ".join(notes),
            self.measures,
            [(row, [self.mean(row, name, convention) for name in self.measures]) for row in self.methods],
            [self.is_error(measure) for measure in self.measures],
            letters,
            marks,
            open_ended,
        )

    def by_fold(self, convention: str, measure: str) -> Table:
        """Return one measure on the test set of every fold, with its mean."""
        rows = []
        for method in self.methods:
            values = [self.value(method, fold, measure, convention) for fold in self.folds]
            rows.append((method, [*values, self.mean(method, measure, convention)]))
        title = f"{self.dataset}: test {measure} by fold, convention {convention}"
        columns = [*self.folds, "mean"]
        return Table(title, "", columns, rows, [self.is_error(measure)] * len(columns))

    def winner(self) -> Winner | None:
        """Return the method of directrank with the highest mean validation value, and how to train it.

        None if no method of directrank has a validation value on every fold.
        """
        return winner(self)

    def to_csv(self, convention: str) -> str:
        """Return the text of a results file; values have all their digits."""
        return csv_text(COLUMNS, self.rows(convention))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**self.summary, "cells": [cell for cell in self.cells if cell["method"] != CHOSEN]}

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
        table = self.headline(convention)
        texts = {
            "results.csv": self.to_csv(convention),
            "results.standard.csv": self.to_csv(STANDARD),
            "results.json": signed(as_plain(self.to_dict())),
            **{f"table.{end}": form(table) + "\n" for end, form in TABLES.items()},
        }
        if "significance" in self.summary:
            texts["significance.csv"] = contrasts_csv(self.summary["significance"][convention]["pairs"])
        for name, text in texts.items():
            write_atomically(folder / name, text)


def signed(content: dict[str, Any]) -> str:
    """Return the text of results.json: the canonical text of its content and of that text's SHA-256."""
    return dump({**content, "sha256": hashlib.sha256(dump(content).encode()).hexdigest()}) + "\n"


def read_results(path: str | os.PathLike) -> Comparison:
    """Read the results of a comparison from its folder, or from its results.json.

    Raises
    ------
    DataError
        If there are none, or the file is not as directrank wrote it.
    """
    path = Path(path)
    file = path / "results.json" if path.is_dir() else path
    if not file.exists():
        raise DataError(f"{file}: no results here; `directrank compare DATA --out {path}` writes them")
    if not file.is_file():
        raise DataError(f"{file}: is a pipe or a device, expected the results.json of a comparison")
    try:
        content = _content(file.read_bytes())
        check_results(content)
    except (StrictJSONError, OddValueError) as error:
        raise DataError(
            f"{file}: not results of directrank compare, or damaged ({error}). "
            "Rerun the same compare command: it rebuilds the file from the finished cells."
        ) from None
    return Comparison(content, content.pop("cells"))


def _content(text: bytes) -> dict[str, Any]:
    """Return the content of a file whose every byte is as it was written."""
    content = parse(text)
    found = content.pop("format", None) if isinstance(content, dict) else None
    if found != FORMAT:
        raise OddValueError("format", found, repr(FORMAT))
    content["format"] = found
    content.pop("sha256", None)
    if signed(content).encode() != text:
        raise OddValueError("sha256", "other bytes", "those that compare wrote, unchanged")
    return content

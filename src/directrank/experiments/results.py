"""The results of a comparison: values, files, and reading them back."""

import hashlib
import math
import os
import shlex
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from directrank.contracts import Measure
from directrank.data.files.options import MISSING
from directrank.errors import DataError
from directrank.estimators.method import UNKNOWN
from directrank.estimators.methods import METHODS
from directrank.estimators.outcome import GOOD
from directrank.experiments.options import CORRECTIONS, OF_A_CELL
from directrank.experiments.records import (
    DATA_CHECK,
    OPTIONS,
    PARTS,
    STANDARD,
    OddValueError,
    Shape,
    any_float,
    by_name,
    cell_shape,
    either,
    every,
    fields,
    flag,
    nothing,
    number,
    one_of,
    setting,
    text,
    whole,
)
from directrank.experiments.tables import MARK, Table, contrasts_csv, csv_text, latex, markdown, plain
from directrank.measures import CONVENTIONS, DEFAULT_MEASURE, parse_measure
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import StrictJSONError, as_plain, dump, parse

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


Record = dict[str, Any]

#: The label of the row.
CHOSEN = "chosen on validation"
#: What the row repeats of the chosen method's cell.
REPEATED = (
    "values", "per_query", "computed", "curve", "qid", "ranked", "ties", "bounds", "weights", "validation",
    "seeds", "peak_memory", "options", "parts",
)  # fmt: skip


def chosen_cells(cells: Sequence[Record], folds: Sequence[str]) -> list[Record]:
    """Return the cells of the row, one a fold; none unless two methods or more finished every fold.

    A method that failed on a fold is not chosen there, nor are runs that do not rank the validation set. Of
    equal validation values the first method's counts.

    Parameters
    ----------
    cells : sequence of dict
        The records of every method on every fold, in the order of the methods.
    folds : sequence of str
        The names of the folds.
    """
    known = [cell for cell in cells if "error" not in cell and cell["validation"] is not None]
    finished = [[cell for cell in known if cell["fold"] == fold] for fold in folds]
    return [_chosen(these) for these in finished] if all(len(these) > 1 for these in finished) else []


def entry(select_by: str) -> Record:
    """Return the description of the row beside those of the methods."""
    said = f"on every fold, the method with the highest validation {select_by}"
    return {"label": CHOSEN, "name": CHOSEN, "measure": None, "summary": said, "paper": "", "grid": {}}


def _chosen(cells: Sequence[Record]) -> Record:
    """Return the cell of a fold. Its time is that of all methods, because choosing needs them all."""
    best = max(cells, key=lambda cell: cell["validation"])
    return {
        **{name: best[name] for name in REPEATED if name in best},
        "fold": best["fold"],
        "method": CHOSEN,
        "measure": None,
        "chosen": {"method": best["method"]},
        "training": {**best["training"], "history": []},
        "tried": [],
        "warnings": [],
        "fit_seconds": math.fsum(cell["fit_seconds"] for cell in cells),
        "seconds": 0.0,
    }


#: Ends about which there is nothing to say; of most rivals nothing is known.
FINE = (*GOOD, UNKNOWN)


def unfinished(result: "Comparison") -> dict[str, list[dict[str, Any]]]:
    """Return the endings of the tested models that did not converge, by method; no entry where all did."""
    endings = {label: [] for label in result.methods}
    for cell in result.cells:
        if cell.get("tried") and "error" not in cell and cell["training"]["status"] not in FINE:
            endings[cell["method"]].append(cell["training"])
    return {label: each for label, each in endings.items() if each}


def unfinished_lines(result: "Comparison") -> Sequence[str]:
    """Return how many models did not converge, and a line with the remedy for each method of theirs."""
    found = unfinished(result)
    if not found:
        return []
    fits = [fit["status"] not in FINE for cell in result.cells for fit in cell.get("tried", ())]
    models = sum(map(len, found.values()))
    tested = sum(bool(cell.get("tried")) for cell in result.cells)
    head = (
        f"{models} of {tested} tested models did not converge, nor did {sum(fits)} of {len(fits)} fits tried"
    )
    return [head, *(f"{label}: {_ended(each, len(result.folds))}" for label, each in found.items())]


def _ended(endings: Sequence[dict[str, Any]], n_folds: int) -> str:
    """Return how models of one method ended, over folds, with the remedies."""
    counts = Counter(each["status"] for each in endings)
    kinds = ", ".join(f"{status} on {count} of {n_folds} folds" for status, count in counts.items())
    if n_folds == 1:
        kinds = ", ".join(counts)
    remedies = dict.fromkeys(each["remedy"] for each in endings if each.get("remedy"))
    return ": ".join(filter(None, (kinds, "; ".join(remedies))))


def seeds_note(result: "Comparison") -> list[str]:
    """Return a note that names the methods with other seeds than the comparison, and their number."""
    usual, counts = len(result.summary.get("seeds", [0])), {}
    for cell in result.cells:
        number = len(cell.get("seeds", ())) or usual
        if number != usual and cell["method"] != CHOSEN:
            counts.setdefault(number, {})[cell["method"]] = None
    return [f"mean of {number} seeds: {', '.join(labels)}" for number, labels in counts.items()]


class Winner(NamedTuple):
    """The method of directrank with the highest mean validation value over folds.

    Attributes
    ----------
    label : str
    parameters : dict
        The point of its grid with the highest mean validation value over folds and seeds, and settings.
    command : str
        The line that trains it at this point on the data of the comparison, and saves it; "" where the data
        are no file.
    """

    label: str
    parameters: dict[str, Any]
    command: str


def winner(result: "Comparison") -> Winner | None:
    """Return the winner; None if no method of directrank has a validation value on every fold."""
    known = {method.name: method for method in METHODS}
    means = {}
    for described in result.summary["methods"]:
        cells = [cell for cell in result.cells if cell["method"] == described["label"]]
        values: list[Any] = [cell.get("validation") for cell in cells]
        if described["name"] in known and None not in values:
            means[described["label"]] = statistics.fmean(values)
    if not means:
        return None
    label = max(means, key=lambda each: means[each])
    name = next(each["name"] for each in result.summary["methods"] if each["label"] == label)
    declared = known[name].estimator().get_params(deep=False)
    settings = sorted(result.summary["settings"].items(), key=lambda each: "." in each[0])
    parameters = {
        key.rpartition(".")[2]: value
        for key, value in settings
        if key.rpartition(".")[0] in ("", label, name) and key.rpartition(".")[2] in declared
    }
    parameters |= _best_point(result, label)
    return Winner(label, parameters, _command(result, label, parameters))


def _best_point(result: "Comparison", label: str) -> dict[str, Any]:
    values, points = defaultdict(list), {}
    for fold in result.folds:
        for fit in result.cell(label, fold)["tried"]:
            key = dump(fit["parameters"])
            points[key] = fit["parameters"]
            values[key].append(fit["validation"])
    return points[max(values, key=lambda key: statistics.fmean(values[key]))]


def _command(result: "Comparison", label: str, parameters: dict[str, Any]) -> str:
    summary = result.summary
    files = summary["folds"][0]["files"]
    if len(files.get("train", ())) != 1 or len(files["vali"]) != 1:
        return ""
    (train,), (vali,) = files["train"], files["vali"]
    words = ["directrank", "fit", label, train]
    # Random folds share one file, and the model is trained on all of it.
    words += [] if vali == train else ["--valid", vali]
    words += [] if summary["select_by"] == DEFAULT_MEASURE else ["--select-by", summary["select_by"]]
    for name, value in parameters.items():
        words += ["--set", f"{name}={_typed(value)}"]
    for role, columns in summary["columns"].items():
        words += [f"--{role}", columns if isinstance(columns, str) else ",".join(columns)]
    words += [] if summary["missing"] == MISSING else ["--missing", str(summary["missing"])]
    words += [] if summary["seed"] == 0 else ["--seed", str(summary["seed"])]
    return shlex.join([*words, "-o", "model.dr"])


def _typed(value: Any) -> str:
    """Return a value as the command line reads it."""
    if isinstance(value, list | tuple):
        return ",".join(map(_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


METHOD = fields(
    label=text, name=text, measure=either(nothing, text), summary=text, paper=text,
    grid=by_name(every(setting)),
)  # fmt: skip
OWN_MEASURE = fields(name=text, meaning=text, is_error=flag)
FOLD = fields(
    name=text, sha256=by_name(text, PARTS),
    files=either(by_name(every(text), ()), by_name(every(text), PARTS)),
)  # fmt: skip
REST = fields(
    format=text, dataset=text, seed=whole, settings=by_name(setting), grids=by_name(every(setting)),
    reading=every(text), methods=every(METHOD, least=1), folds=every(FOLD, least=1), data_check=DATA_CHECK,
    environment=by_name(text), command=every(text), written=text, significance=by_name(setting),
    cells=every(cell_shape),
)  # fmt: skip


def check_results(content: Any) -> None:
    """Raise `OddValueError` unless a value is the complete content of a file of results."""
    by_name(setting)(content, "")
    options = {name: each for name, each in content.items() if name in (*OF_A_CELL, "columns")}
    OPTIONS(options, "")
    own = content.get(KEY, {})
    by_name(OWN_MEASURE)(own, f".{KEY}")
    _check_names(options, own)
    REST({name: each for name, each in content.items() if name not in options and name != KEY}, "")
    by_name(text, ("directrank", *content["environment"]))(content["environment"], ".environment")
    _check_time(content["written"])
    methods = _different([each["label"] for each in content["methods"]], ".methods")
    folds = _different([each["name"] for each in content["folds"]], ".folds")
    _check_cells(content["cells"], options, methods, folds)
    conventions = dict.fromkeys((options["convention"], STANDARD))
    tested = by_name(_significance(options["measures"], methods), conventions)
    tested(content["significance"], ".significance")


def _check_names(options: Mapping[str, Any], own: Collection[str]) -> None:
    """Refuse measures and conventions that do not exist; `own` are the measures that the results explain."""
    one_of(*CONVENTIONS)(options["convention"], ".convention")
    for name in (options["select_by"], *_different(options["measures"], ".measures")):
        try:
            fine = name in own or parse_measure(name).name == name
        except ValueError:
            fine = False
        if not fine:
            raise OddValueError(".measures", name, "the name of a measure")


def _check_time(written: str) -> None:
    try:
        datetime.fromisoformat(written)
    except ValueError:
        raise OddValueError(".written", written, "a time") from None


def _different(names: list[str], place: str) -> list[str]:
    if len(set(names)) < len(names):
        raise OddValueError(place, names, "different names")
    return names


def _check_cells(
    cells: list[dict[str, Any]], options: Mapping[str, Any], methods: Collection[str], folds: Collection[str]
) -> None:
    """Refuse all but one cell for each method and fold, made with the options of the comparison."""
    found = sorted((each["fold"], each["method"]) for each in cells)
    if found != sorted(product(folds, [each for each in methods if each != CHOSEN])):
        raise OddValueError(".cells", f"{len(found)} cells", "one for each fold and method")
    if CHOSEN in methods and not chosen_cells(cells, list(folds)):
        raise OddValueError(".methods", CHOSEN, "two or more methods to choose from")
    names: dict[str, list[str]] = {}
    for at, each in enumerate(cells):
        one_of(dict(options))(each["options"], f".cells[{at}].options")
        if "error" not in each:
            chosen = sorted(each["chosen"])
            if names.setdefault(each["method"], chosen) != chosen:
                raise OddValueError(f".cells[{at}].chosen", chosen, str(names[each["method"]]))


def _significance(measures: Collection[str], methods: Collection[str]) -> Shape:
    """Return the shape of the tests of one convention."""
    method = one_of(*methods)
    pair = fields(
        method=method, baseline=method,
        **dict.fromkeys(("queries", "wins", "ties", "losses"), whole),
        **dict.fromkeys(("difference", "low", "high"), number),
        **dict.fromkeys(("p_t", "p_randomisation", "p_holm", "p_bh"), number), effect=any_float,
    )  # fmt: skip

    def intervals(value: Any, place: str) -> None:
        by_name(every(number, 2))(value, place)
        for name in value:
            method(name, place)

    return fields(
        alpha=number, correction=one_of(*CORRECTIONS), baseline=either(nothing, method), level=number,
        flips=whole, resamples=whole, letters=by_name(text, methods),
        better_than=by_name(by_name(text, methods), measures), pairs=by_name(every(pair), measures),
        intervals=by_name(intervals, measures),
    )  # fmt: skip


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
        for name, content in texts.items():
            write_atomically(folder / name, content)


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

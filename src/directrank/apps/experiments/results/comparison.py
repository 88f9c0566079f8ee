"""The results of a comparison: values, files, and reading them back."""

import math
import os
import shlex
import statistics
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.evaluation import Gate, gated
from directrank.apps.experiments.results.tables import (
    Table,
    aligned,
    contrasts_csv,
    csv_text,
    html,
    latex,
    markdown,
    plain_text,
)
from directrank.apps.experiments.store.records import (
    CHOSEN,
    STANDARD,
    UNKNOWN,
    Compared,
    ComparedByClicks,
    Described,
    FailedCell,
    Parameters,
    Ranking,
    Results,
    Training,
)
from directrank.contracts import GOOD
from directrank.data.tabular import frame_of
from directrank.errors import DataError
from directrank.estimators.synonyms import our_name
from directrank.files import MISSING
from directrank.files.store import manifest_of
from directrank.measures import DEFAULT_MEASURE, parse_measure
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import (
    JSONObject,
    OddValueError,
    StrictJSONError,
    dump,
    encode,
    parse,
    signed,
)


def chosen_cells(cells: Sequence[Ranking | FailedCell], folds: Sequence[str]) -> list[Ranking]:
    """Return the cells of the row "chosen on validation", one per fold.

    There are none unless two methods or more finished every fold. A method that failed on a fold is not
    chosen there, nor are runs that do not rank the validation set. Of equal validation values the first
    method's counts.
    """
    chosen = []
    for fold in folds:
        values = {
            cell.method: (cell.validation, cell)
            for cell in cells
            if isinstance(cell, Ranking) and cell.fold == fold and cell.validation is not None
        }
        if len(values) < 2:
            return []
        _, best = max(values.values(), key=lambda entry: entry[0])
        chosen.append(
            replace(
                best,
                method=CHOSEN,
                measure=None,
                chosen={"method": best.method},
                training=replace(best.training, history=[]),
                scaling=replace(best.scaling, reason=""),
                tried=[],
                warnings=[],
                # Choosing needs all methods.
                fit_seconds=math.fsum(cell.fit_seconds for _, cell in values.values()),
            )
        )
    return chosen


def described_choice(select_by: str) -> Described:
    """Return the description of the row beside those of the methods."""
    return Described.untrained(CHOSEN, f"on every fold, the method with the highest validation {select_by}")


#: Ends about which there is nothing to say; of most external estimators nothing is known.
FINE = (*GOOD, UNKNOWN)


def _ended(endings: Sequence[Training], n_folds: int) -> str:
    """Return how models of one method ended, over folds, with the remedies."""
    counts = Counter(training.status for training in endings)
    kinds = ", ".join(f"{status} on {count} of {n_folds} folds" for status, count in counts.items())
    if n_folds == 1:
        kinds = ", ".join(counts)
    remedies = dict.fromkeys(training.remedy for training in endings if training.remedy)
    return ": ".join(filter(None, (kinds, "; ".join(remedies))))


class Winner(NamedTuple):
    """The method of directrank with the highest mean validation value over folds.

    Its parameters are the point of its grid with the highest mean validation value over folds and seeds, and
    settings; `command` trains it at this point, and is "" where the data are no file.
    """

    label: str
    parameters: Parameters
    command: str


def _command(content: Results, label: str, parameters: Parameters) -> str:
    files = content.folds[0].files
    if len(files.get("train", ())) != 1 or len(files["vali"]) != 1:
        return ""
    # A store is named by its folder, not by the file whose digest is recorded.
    train, vali = (
        str(Path(path).parent) if manifest_of(Path(path)) else path
        for path in (*files["train"], *files["vali"])
    )
    words = ["directrank", "fit", label, train]
    # Random folds share one file, and the model is trained on all of it.
    words += [] if vali == train else ["--valid", vali]
    words += [] if content.select_by in (None, DEFAULT_MEASURE) else ["--select-by", content.select_by]
    for name, value in parameters.items():
        words += ["--set", f"{name}={_typed(value)}"]
    for role, columns in content.columns.items():
        words += [f"--{role}", columns if isinstance(columns, str) else ",".join(columns)]
    words += [] if content.missing == MISSING else ["--missing", str(content.missing)]
    words += [] if content.seed == 0 else ["--seed", str(content.seed)]
    given = pairwise(content.command)
    words += [word for before, word in given if word.startswith("--plugin") or before == "--plugin"]
    return shlex.join([*words, "-o", "model.dr"])


def _typed(value: object) -> str:
    """Return a value as the command line reads it."""
    if isinstance(value, list | tuple):
        return ",".join(map(_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


FORMAT = "directrank results 2"
COLUMNS = ("dataset", "method", "split", "fold", "measure", "value")
#: Methods that a representation shows.
SHOWN = 10
#: Formats of the table that is written with the results, by the ending of the file.
TABLES = {"txt": plain_text, "md": markdown, "tex": latex}


class Comparison:
    """The results of `compare`.

    Parameters
    ----------
    content : Results
        Everything as records, without the row "chosen on validation".

    Attributes
    ----------
    finished : list of Ranking
        The records of methods on folds where they did not fail, with those of that row.
    failures : list of FailedCell

    Examples
    --------
    >>> from directrank import compare, make_ranking
    >>> comparison = compare(make_ranking(30, 8, 3, random_state=0), "regression,ranksvm", kfold=3)
    >>> comparison.trained, comparison.dataset, len(comparison.of("ranksvm"))
    (['regression', 'ranksvm'], 'synthetic', 3)
    >>> comparison.winner().label
    'regression'
    """

    def __init__(self, content: Results):
        self.content = content
        derived = chosen_cells(content.cells, self.folds) if self.choice else []
        self._records = [*content.cells, *derived]
        self.finished = [record for record in self._records if isinstance(record, Ranking)]
        self.failures = [record for record in self._records if isinstance(record, FailedCell)]
        self._finished = {(cell.method, cell.fold): cell for cell in (*self.finished, *content.references)}

    def __repr__(self) -> str:
        if self.by_clicks is not None:
            return "\n".join(aligned([self.by_clicks.headings, *self.by_clicks.table()]))
        table, more = self._first_rows()
        return plain_text(table) + (f"\n… and {more} more" if more else "")

    def _repr_html_(self) -> str:
        table, more = self._first_rows()
        return html(table) + (f"<p>… and {more} more</p>" if more else "")

    def _first_rows(self) -> tuple[Table, int]:
        """Return the table of the requested convention with its first rows, and how many others there are."""
        table = self.headline(self.conventions[0])
        first = replace(table, caption="; ".join(self.computed(STANDARD)), rows=table.rows[:SHOWN])
        return first, len(table.rows) - len(first.rows)

    @property
    def by_clicks(self) -> ComparedByClicks | None:
        """The content of a comparison by clicks; None of another one."""
        return self.content if isinstance(self.content, ComparedByClicks) else None

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.content.dataset

    @property
    def methods(self) -> list[str]:
        """Labels of the methods, in the order requested."""
        return [method.label for method in self.content.methods]

    @property
    def trained(self) -> list[str]:
        """Labels of the methods without the row "chosen on validation"."""
        return [method for method in self.methods if method != CHOSEN]

    @property
    def choice(self) -> str | None:
        """The label of the row "chosen on validation", if there is one."""
        return CHOSEN if CHOSEN in self.methods else None

    @property
    def references(self) -> list[str]:
        """Labels of the rows of what there was before; they are none of the methods."""
        return [method.label for method in self.content.reference_methods]

    @property
    def folds(self) -> list[str]:
        """Names of the folds."""
        return [fold.name for fold in self.content.folds]

    @property
    def measures(self) -> list[str]:
        """Canonical names of the measures in the report."""
        return self.content.measures

    @property
    def main(self) -> str:
        """The measure of the headline: that of selection, if it is reported, or the first."""
        selecting = self.content.select_by
        return selecting if selecting in self.measures else self.measures[0]

    @property
    def conventions(self) -> list[str]:
        """The conventions of the report: the requested one first, then the standard one if it differs."""
        return self.content.conventions

    @cached_property
    def summary(self) -> JSONObject:
        """Data set, options, methods, folds, data check, environment and command, as plain values."""
        members = encode(replace(self.content, cells=[]))
        members.pop("cells")
        return members

    @cached_property
    def cells(self) -> list[JSONObject]:
        """Every method on every fold, as plain values; one that failed has ``"error"``.

        Those of the row "chosen on validation" come last.
        """
        return encode(self._records)

    @property
    def failed(self) -> list[JSONObject]:
        """The cells that failed."""
        return encode(self.failures)

    def is_error(self, measure: str) -> bool:
        """Whether a measure is printed as an error, so that smaller is better."""
        return self.content.is_error(measure)

    def cell(self, method: str, fold: str) -> JSONObject:
        """Return a method on a fold, as plain values."""
        return next(cell for cell in self.cells if (cell["method"], cell["fold"]) == (method, fold))

    def record(self, method: str, fold: str) -> Ranking | None:
        """Return the record of a method on a fold; None if it failed there."""
        return self._finished.get((method, fold))

    def of(self, method: str) -> list[Ranking]:
        """Return the records of a method on the folds where it did not fail."""
        return [self._finished[method, fold] for fold in self.folds if (method, fold) in self._finished]

    def value(
        self, method: str, fold: str, measure: str, convention: str, split: str = "test"
    ) -> float | None:
        """Return the value of a measure on one fold, in [0, 1]; None if the method failed there.

        It is also None where there is no such split: runs have no validation set.
        """
        cell = self.record(method, fold)
        name = measure if measure in self.measures else parse_measure(measure).name
        return None if cell is None else cell.values[convention].get(split, {}).get(name)

    def mean(self, method: str, measure: str, convention: str, split: str = "test") -> float | None:
        """Return the plain mean of the folds' values; None if the method failed on any of them."""
        values: list[Any] = [self.value(method, fold, measure, convention, split) for fold in self.folds]
        return None if None in values else statistics.fmean(values)

    def means(self, measure: str, convention: str) -> dict[str, float]:
        """Return the means of the methods that failed on no fold, the best first."""
        values = {method: self.mean(method, measure, convention) for method in self.methods}
        means = {method: value for method, value in values.items() if value is not None}
        ranked = sorted(means, key=means.__getitem__, reverse=not self.is_error(measure))
        return {method: means[method] for method in ranked}

    def rows(self, convention: str) -> Iterator[tuple[str, str, str, str, str, float]]:
        """Yield the rows of a results file: one per method, split, fold and measure."""
        for row in product((*self.methods, *self.references), ("test", "vali"), self.folds, self.measures):
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
        rows = list(self.rows(convention or self.conventions[0]))
        return frame_of({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)})

    def lead_line(self, convention: str, measure: str) -> str:
        """Return by what the best method leads the second, where that may be chance; else an empty text.

        Where only pairs with a baseline were tested, the second is the baseline, unless it is the best.
        """
        tests = self.content.tests(convention)
        ranked = [method for method in self.means(measure, convention) if method != CHOSEN]
        first, second, *_ = [*ranked, "", ""]
        if tests.baseline not in (None, first):
            second = tests.baseline
        pair = tests.pair(measure, first, second)
        if self.content.smallest_is_best(measure) is None or pair is None:
            return ""
        if not (line := tests.power_line(measure, pair)):
            return ""
        return f"{first} leads {second} by {measure}, which may be chance. {line}"

    def computed(self, convention: str) -> list[str]:
        """Return ``ERR is ERR(max=2)`` for each measure with a parameter of the convention or data."""
        names = (pair for cell in self.finished for pair in cell.computed[convention].items())
        return [f"{short} is {full}" for short, full in dict.fromkeys(names) if short != full]

    def unfinished(self) -> dict[str, list[Training]]:
        """Return the endings of tested models that did not converge, by method; no entry where all did."""
        endings = defaultdict(list)
        for cell in self.finished:
            if cell.tried and cell.training.status not in FINE:
                endings[cell.method].append(cell.training)
        return {label: endings[label] for label in self.methods if label in endings}

    def unfinished_lines(self) -> list[str]:
        """Return how many models did not converge, and a line with the remedy for each method of theirs."""
        endings = self.unfinished()
        if not endings:
            return []
        tested = sum(bool(cell.tried) for cell in self.finished)
        return [
            f"{sum(map(len, endings.values()))} of {tested} tested models did not converge",
            *(f"{label}: {_ended(trainings, len(self.folds))}" for label, trainings in endings.items()),
        ]

    def seeds_notes(self) -> list[str]:
        """Return notes that name the methods with other seeds than the comparison, and their number."""
        usual, labels = len(self.content.seeds), defaultdict(dict)
        for cell in self.finished:
            number = len(cell.seeds) or usual
            if number != usual and cell.method != CHOSEN:
                labels[number][cell.method] = None
        return [f"mean of {number} seeds: {', '.join(methods)}" for number, methods in labels.items()]

    def headline(self, convention: str) -> Table:
        """Return the means over folds on the test set: one row per method, one column per measure."""
        folds = f"mean of {len(self.folds)} folds" if len(self.folds) > 1 else "one fold"
        by = self.content.select_by
        notes = [f"hyper-parameters chosen on validation by {by}"] if by else []
        tested = self.content.tests(convention)
        letters, marks, open_ended = [], [], self.unfinished()
        if any(tested.pairs.values()):
            rule = {"holm": "Holm", "bh": "Benjamini-Hochberg"}[tested.correction]
            notes.append(
                f">ab: significantly better than methods (a) and (b), randomisation test on queries, {rule}, "
                f"p < {tested.alpha:g}" + (" over all measures" if tested.family == "all" else "")
            )
            letters = [tested.letters.get(row, "") for row in self.methods]
            better = [tested.better_than[name] for name in self.measures]
            marks = [[column.get(row, "") for column in better] for row in self.methods]
        # Under the standard convention, a measure is another one only where the data decide, as for ERR.
        notes += [*self.computed(STANDARD), *self.seeds_notes()]
        if open_ended:
            notes.append(f"{Table.dagger} not every model converged")
        return Table(
            f"{self.dataset}: {f'test, {folds}' if by else 'all queries'}, convention {convention}",
            "; ".join(notes),
            self.measures,
            [(row, [self.mean(row, name, convention) for name in self.measures]) for row in self.methods],
            [self.content.smallest_is_best(measure) for measure in self.measures],
            letters,
            marks,
            open_ended,
        )

    def before(self, convention: str) -> Table:
        """Return the means of what there was before, outside the family of tests."""
        return Table(
            f"{self.dataset}: what there was before, convention {convention}",
            "outside the family of tests",
            self.measures,
            [(row, [self.mean(row, name, convention) for name in self.measures]) for row in self.references],
            [self.content.smallest_is_best(measure) for measure in self.measures],
        )

    def by_fold(self, convention: str, measure: str) -> Table:
        """Return one measure on the test set of every fold, with its mean."""
        rows = []
        for method in self.methods:
            values = [self.value(method, fold, measure, convention) for fold in self.folds]
            rows.append((method, [*values, self.mean(method, measure, convention)]))
        title = f"{self.dataset}: test {measure} by fold, convention {convention}"
        columns = [*self.folds, "mean"]
        return Table(title, "", columns, rows, [self.content.smallest_is_best(measure)] * len(columns))

    def best_on_validation(self, among: Container[str] | None = None) -> str | None:
        """Return the method with the highest mean validation value; None if none has one on every fold."""
        means = {}
        for method in self.trained:
            if among is not None and method not in among:
                continue
            values = [cell.validation for cell in self.of(method) if cell.validation is not None]
            if len(values) == len(self.folds):
                means[method] = statistics.fmean(values)
        return max(means, key=means.__getitem__) if means else None

    def gate(self, margins: Mapping[str, float], convention: str | None = None) -> Gate:
        """Return whether methods are not worse than the baseline by more than margins of measures.

        Of a comparison of methods it is the one that validation chooses; of runs, all others.

        Parameters
        ----------
        margins : mapping of str to float
            The loss of each measure that is still accepted, such as ``{"nDCG@10": 0.01}``.
        convention : str, optional
            One of `conventions`; the first by default.

        Raises
        ------
        ValueError
            If there is no baseline, or a measure was not evaluated.
        """
        convention = convention or self.conventions[0]
        baseline = self.content.tests(convention).baseline
        if baseline is None:
            raise ValueError("a gate needs a baseline; name it by baseline=")
        accepted = {parse_measure(name).name: margin for name, margin in margins.items()}
        if unknown := [name for name in accepted if name not in self.measures]:
            raise ValueError(f"{unknown[0]} was not evaluated; expected {', '.join(self.measures)}")
        if baseline in {cell.method for cell in self.failures}:
            raise DataError(f"the baseline {baseline} failed on a fold, so that nothing is compared with it")
        chosen = self.best_on_validation()
        methods = self.trained if chosen is None else [chosen]
        values = {
            method: {measure: self.query_values(convention, measure, method) for measure in accepted}
            for method in [*methods, baseline]
        }
        return gated(values, values.pop(baseline), accepted, label=baseline)

    def query_values(self, convention: str, measure: str, method: str) -> np.ndarray:
        """Return a method's values on the test queries of all folds, (n_queries,), fold by fold."""
        values = [np.array(cell.per_query[convention][measure], dtype=float) for cell in self.of(method)]
        return np.concatenate(values)

    def winner(self) -> Winner | None:
        """Return the method of directrank with the highest mean validation value, and how to train it.

        None if no method of directrank has a validation value on every fold.
        """
        from directrank.estimators.methods import METHODS

        table = {method.name: method for method in METHODS}
        means = {}
        for description in self.content.methods:
            values = [cell.validation for cell in self.of(description.label)]
            if description.name in table and len(values) == len(self.folds) and None not in values:
                mean = statistics.fmean(value for value in values if value is not None)
                means[description.label] = mean, description.name
        if not means:
            return None
        label = max(means, key=lambda method: means[method][0])
        name = means[label][1]
        declared = table[name].estimator().get_params(deep=False)
        settings = sorted(self.content.settings.items(), key=lambda setting: "." in setting[0])
        parameters = {
            ours: value
            for key, value in settings
            if key.rpartition(".")[0] in ("", label, name)
            and (ours := our_name(key.rpartition(".")[2], declared))
        }
        values, points = defaultdict(list), {}
        for fit in (fit for cell in self.of(label) for fit in cell.tried):
            points[dump(fit.parameters)] = fit.parameters
            values[dump(fit.parameters)].append(fit.validation)
        parameters |= points[max(values, key=lambda key: statistics.fmean(values[key]))]
        return Winner(label, parameters, _command(self.content, label, parameters))

    def to_csv(self, convention: str) -> str:
        """Return the text of a results file; values have all their digits."""
        return csv_text(COLUMNS, self.rows(convention))

    def to_dict(self) -> JSONObject:
        """Return everything as plain values."""
        return encode(self.content)

    def write(self, folder: str | os.PathLike) -> None:
        """Write the results and the table of the requested convention; each file is complete or unchanged.

        The files are results.csv, results.standard.csv, results.json, table.txt, table.md, table.tex and, if
        differences were tested, significance.csv; of a comparison by clicks results.csv, results.json and
        table.txt.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"results.json": signed(self.to_dict()), **self._texts()}.items():
            write_atomically(folder / name, text)

    def _texts(self) -> dict[str, str]:
        """Return the text of each file beside results.json."""
        content, convention = self.content, self.conventions[0]
        if (by_clicks := self.by_clicks) is not None:
            return {
                "results.csv": csv_text(by_clicks.headings, by_clicks.table()),
                "table.txt": "\n".join([repr(self), "", *by_clicks.lines]) + "\n",
            }
        table = self.headline(convention)
        texts = {
            "results.csv": self.to_csv(convention),
            "results.standard.csv": self.to_csv(STANDARD),
            **{f"table.{end}": form(table) + "\n" for end, form in TABLES.items()},
        }
        if content.significance:
            texts["significance.csv"] = contrasts_csv(content.significance[convention].pairs)
        return texts


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
        content = _content(file)
        return Comparison((ComparedByClicks if "propensities" in content else Compared).read(content))
    except (StrictJSONError, OddValueError) as error:
        raise DataError(
            f"{file}: not results of directrank compare, or damaged ({error}). "
            "Rerun the same compare command: it rebuilds the file from the finished cells."
        ) from None


def _content(file: Path) -> JSONObject:
    """Return the content of a file whose every byte is as it was written."""
    text = file.read_bytes()
    content = parse(text)
    form = content.get("format") if isinstance(content, dict) else None
    if form != FORMAT:
        raise OddValueError("format", form, repr(FORMAT))
    content.pop("sha256", None)
    if signed(content).encode() != text:
        raise OddValueError("sha256", "other bytes", "those that compare wrote, unchanged")
    for cell in content["cells"]:  # Early releases repeat the options there.
        cell.pop("options", None)
    return content

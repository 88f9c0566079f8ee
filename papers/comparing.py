"""Options of all scripts, comparisons on folds, and test values with their standard errors."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from directrank import compare, find_folds, read_letor, write_letor
from directrank.apps.cli.progress import Lines
from directrank.apps.experiments import Comparison
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.estimators.methods import Configured, Method, configured
from directrank.files.folds import PARTS

LETOR3 = "letor3"


def parser_of(doc: str, name: str, data: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all scripts: --data, --out, --jobs."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help=data)
    parser.add_argument("--out", type=Path, default=Path("papers/out") / name, help="folder for results")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the fits")
    return parser


def run(main: Callable[[], None]) -> None:
    """Run a script; report unusable data as one line."""
    try:
        main()
    except (DataError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")


def say(text: str) -> None:
    """Print progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def own(
    name: str, estimator: type, *, measure: str | None = None, select_by: str = "AP",
    fixed: Mapping[str, Any] | None = None, grid: Mapping[str, tuple] | None = None,
) -> Configured:  # fmt: skip
    """Return a method with its own settings and grid."""
    method = Method(name, estimator, name, "", measure=measure, fixed=fixed or {}, grid=grid or {})
    return Configured(name, method, measure, select_by)


def called(name: str, spec: str, select_by: str = "AP") -> Configured:
    """Return one of directrank's methods under the name that a paper gives it."""
    found = configured(spec, select_by)[0]
    return Configured(name, found.method, found.measure, select_by)


def compared(
    data: Path, methods: Sequence[Configured], measures: Sequence[str], out: Path, jobs: int,
    select_by: str = "AP", convention: str = LETOR3, seeds: Sequence[int] = (0,),
) -> Comparison:  # fmt: skip
    """Compare methods on the folds of a folder; a rerun reuses finished fits."""
    with Lines() as lines:
        result = compare(
            data, methods, select_by=select_by, measures=measures, convention=convention, out=out,
            seeds=seeds, jobs=jobs, observer=lines,
        )  # fmt: skip
    for cell in result.failed:
        raise DataError(f"{cell['method']} failed on {cell['fold']}: {cell['error']['message']}")
    return result


class Values:
    """Test values of a comparison in one convention, for each query.

    Parameters
    ----------
    result : Comparison
    convention : str
    """

    def __init__(self, result: Comparison, convention: str = LETOR3):
        self.result, self.convention = result, convention

    def of(self, method: str, measure: str) -> np.ndarray:
        """Return the values of all test queries, fold by fold."""
        folds = [self.result.cell(method, fold) for fold in self.result.folds]
        return np.concatenate([each["per_query"][self.convention][measure] for each in folds])

    def mean(self, method: str, measure: str) -> float:
        """Return the plain mean of the values of the folds, as in published tables."""
        mean = self.result.mean(method, measure, self.convention)
        assert mean is not None
        return mean

    def error(self, method: str, measure: str) -> float:
        """Return the standard error of a mean over queries."""
        return error_of(self.of(method, measure))

    def paired_error(self, method: str, measure: str) -> float:
        """Return the median standard error of the differences between this method and the others."""
        return self.error_against(self, method, measure)

    def error_against(self, theirs: "Values", method: str, measure: str) -> float:
        """Return the median standard error of the differences between a method of `theirs` and those here."""
        mine = theirs.of(method, measure)
        others = [each for each in self.result.trained if theirs is not self or each != method]
        return float(median(error_of(mine - self.of(each, measure)) for each in others))


def error_of(values: np.ndarray) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def min_max(groups: QueryGroups) -> QueryGroups:
    """Return queries with every feature scaled to [0, 1] within each query; constant features become 0."""
    features = groups.X.astype(np.float64)
    _, of_row = np.unique(groups.qid, return_inverse=True)
    low = np.full((of_row.max() + 1, features.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, of_row, features)
    np.maximum.at(high, of_row, features)
    width = (high - low)[of_row]
    scaled = np.where(width > 0, (features - low[of_row]) / np.where(width > 0, width, 1.0), 0.0)
    return QueryGroups(scaled.astype(np.float32), groups.relevance, groups.qid, docid=groups.docid)


def normalised(data: Path, out: Path) -> Path:
    """Write the folds of a folder with the features of each query scaled by `min_max`; return their folder.

    Files that are newer than their source are not written again.
    """
    for number, fold in enumerate(find_folds(data), 1):
        folder = out / f"Fold{number}"
        folder.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            source, target = getattr(fold, part)[0], folder / f"{part}.txt"
            if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                say(f"normalising {fold.name} {part}")
                write_letor(min_max(read_letor(source)), target)
    return out

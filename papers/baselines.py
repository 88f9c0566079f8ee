"""Published values of LETOR 3.0, read from a CSV file."""

import csv
import lzma
from pathlib import Path

import numpy as np

Published = dict[tuple[str, str, str], list[float]]

NAMES = ("letor3_baselines.csv", "letor3_baselines.csv.xz")


def beside(data: Path) -> Path | None:
    """Return the file in the folder of a data set or in its parent folder, if it exists."""
    places = [folder / name for folder in (data, data.resolve().parent) for name in NAMES]
    return next((each for each in places if each.is_file()), None)


def read_baselines(path: Path | None) -> Published:
    """Return the test values of the folds for each (dataset, algorithm, measure); empty without a file."""
    values: Published = {}
    if path is None:
        return values
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["split"] == "test" and row["fold"].startswith("Fold"):
                key = row["dataset"], row["algorithm"], measure_of(row["metric"])
                values.setdefault(key, []).append(float(row["value"]))
    return values


def measure_of(metric: str) -> str:
    """Return directrank's name of a LETOR measure."""
    return "AP" if metric == "MAP" else metric.replace("NDCG", "nDCG")


def mean_of(published: Published, dataset: str, algorithm: str, measure: str) -> float | None:
    """Return the mean over folds; None if nothing was published."""
    values = published.get((dataset, algorithm, measure))
    return float(np.mean(values)) if values else None

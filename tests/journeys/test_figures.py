"""README's figures: differences are those of its means, other pages repeat them, and a row is made again."""

import re
from pathlib import Path

import numpy as np
import pytest

from journeys.shop import rows_of

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?:LightGBM's |XGBoost's )?`([^`]+)`[^|]*\|((?: [^|]*\|)+)$", re.M)
PAIR = re.compile(r"(\.\d{4}) \| (?:([+−]\.\d{4}) \((−?\.\d{4}) to (−?\.\d{4})\))?")


def figures(page: str) -> dict[str, list[tuple[float, ...]]]:
    """Return the rows of README's table: by collection the mean, the difference to `auto`, its interval."""
    found = {}
    for name, cells in ROW.findall(page):
        pairs = PAIR.findall(cells)
        if pairs:
            found[name] = [tuple(float((each or "0").replace("−", "-")) for each in pair) for pair in pairs]
    return found


def test_the_difference_of_each_row_is_that_of_its_mean_to_the_mean_of_auto():
    table = figures((ROOT / "README.md").read_text("utf-8"))
    assert len(table) == 7
    for name, pairs in table.items():
        assert len(pairs) == 2 - name.startswith("rank:"), name
        for (mean, difference, low, high), (auto, *_) in zip(pairs, table["auto"], strict=False):
            # Folds have 21 or 22 queries: a mean of folds is not quite that of queries, which are paired.
            assert mean - auto == pytest.approx(difference, abs=5e-4), name
            # An interval of Student's t is as wide on either side, but for the same reason.
            assert (low + high) / 2 == pytest.approx(difference, abs=2.5e-4), name


def test_other_pages_have_the_figures_of_readme_for_auto():
    ((mean, *_), *_) = figures((ROOT / "README.md").read_text("utf-8"))["auto"]
    printed = f"{mean:.4f}".removeprefix("0")
    for name in ("auto.md", "choose.md"):
        assert printed in (ROOT / "docs" / name).read_text("utf-8"), name


@pytest.mark.golden
def test_a_row_of_readme_is_what_compare_prints(ohsumed, directrank):
    directrank(f"compare {ohsumed} --methods ranksvm --select-by AP --measures AP --no-audit --out readme -q")
    values = [
        float(row["value"])
        for row in rows_of("readme/results.csv")
        if (row["method"], row["split"], row["measure"]) == ("ranksvm", "test", "AP")
    ]
    assert len(values) == 5
    ((printed, *_), *_) = figures((ROOT / "README.md").read_text("utf-8"))["ranksvm"]
    assert np.mean(values) == pytest.approx(printed, abs=5.1e-5)

"""Every target of `directrank export` times every kind of ranker: how its scores agree with the ranker's.

    python benchmarks/system/exports.py [--write docs/export.md]

Rankers and documents are those of the tests: each threshold of a ranker and its two float32 neighbours,
missing values, zeros of both signs, tiny numbers and ties. Each cell has the largest difference of scores
(without a constant that all scores share), and the inverted pairs of queries of 50 documents that float32
tells apart. Rankers are refused by the lines below the table.
"""

import argparse
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from directrank import export
from directrank.apps.engines import TARGETS, inversions
from directrank.apps.engines.function import Target, function_of
from directrank.errors import ExportError
from unit.models.export.battery import rankers, rows

#: Numbers beyond this would set the scale of the scores of a whole table.
LARGEST = 1e6
BEGIN, END = "<!-- table of exports -->", "<!-- end of table -->"


def cell(target: Target, ranker) -> str:
    content = export(ranker, target.name).content
    names = tuple(getattr(ranker, "feature_names_in_", [f"f{at + 1}" for at in range(ranker.n_features_in_)]))
    kind = function_of(ranker.scorer_, names).kind
    features = rows(ranker.scorer_, missing=kind not in target.zero_for_missing)
    features = features[~(np.abs(features) > LARGEST).any(axis=1)]
    features[np.abs(features) <= target.zero] = 0
    ours = ranker.scorer_.scores(features)
    known = ~np.isnan(ours)
    theirs = np.asarray(target.scores(content, names, features), np.float64)[known]
    difference = theirs - ours[known]
    difference -= np.median(difference)
    apart = inversions(np.arange(len(theirs)) // 50, ours[known], theirs)[1]
    return f"{np.abs(difference).max():.0e}".replace("0e+00", "0") + (f", **{apart}**" if apart else "")


def table() -> str:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = rankers(Path(folder))
        head = ["target", *models, "by"]
        lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        refusals: list[str] = []
        for target in TARGETS:
            cells = []
            for ranker in models.values():
                try:
                    cells.append(cell(target, ranker))
                except ExportError as error:
                    line = re.sub(r"'f\d'", "'f1'", str(error).replace(target.name, "TARGET", 1))
                    refusals += [line] if line not in refusals else []
                    cells.append(f"refused ({refusals.index(line) + 1})")
            lines.append(f"| `{target.name}` | {' | '.join(cells)} | {target.by} |")
    apart = sum(map(int, re.findall(r"\*\*(\d+)\*\*", "".join(lines))))
    lines += ["", f"Inverted pairs that float32 tells apart: {apart}. Refused, each in one line:", ""]
    lines += [f"{number}. `{line}`" for number, line in enumerate(refusals, 1)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="put the table into this page, too")
    page = parser.parse_args().write
    text = table()
    print(text)
    if page is not None:
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()

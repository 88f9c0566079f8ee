"""Every target of `directrank export` times every kind of ranker: how its scores agree with the ranker's.

    python tests/system/exports.py --write docs/export_proof.md
    python tests/system/exports.py --engines --write benchmarks/studies/exports.md

By default each target's own runtime or transcript scores documents at each threshold of a ranker and its
two float32 neighbours, missing values, zeros of both signs, tiny numbers and ties: those of the tests. With
``--engines`` the engines of the JVM score the 600 documents of tests/jvm; Maven fetches them in the first
run.

Each cell has the largest difference of scores (without a constant that all scores share), and in bold the
inverted pairs of queries of 50 documents that float32 tells apart. Rankers are refused by the lines below the
table.
"""

import argparse
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from directrank import export
from directrank.apps.engines import TARGETS, inversions
from directrank.apps.engines.function import Target, function_of
from directrank.errors import ExportError
from directrank.estimators.documents import names_of_columns
from jvm.agreement import ENGINES, NOT_SERVED, Agreement, agreements
from jvm.engines import NotHereError, versions
from unit.apps.engines.rankers_of_every_kind import rankers, rows, scores_by

#: Numbers beyond this would set the scale of the scores of a whole table.
LARGEST = 1e6
#: The comments around the table of targets, and around that of engines.
MARKS = (
    ("<!-- table of exports -->", "<!-- end of table -->"),
    ("<!-- table of engines -->", "<!-- end of table of engines -->"),
)
#: What precedes the cells of a row and what follows them, with the name of the target between.
Row = tuple[list[str], str, dict[str, str | ExportError], str]


def cell(difference: float, inverted: int) -> str:
    return f"{difference:.0e}".replace("0e+00", "0") + (f", **{inverted}**" if inverted else "")


def of_target(target: Target, ranker) -> str:
    content = export(ranker, target.name).content
    names = names_of_columns(ranker)
    kind = function_of(ranker.scorer_, names).kind
    features = rows(ranker.scorer_, missing=kind not in target.zero_for_missing)
    features = features[~(np.abs(features) > LARGEST).any(axis=1)]
    features[np.abs(features) <= target.zero] = 0
    ours = ranker.scorer_.scores(features)
    known = ~np.isnan(ours)
    theirs = scores_by(target, content, ranker, features)[known]
    difference = theirs - ours[known]
    difference -= np.median(difference)
    inverted = inversions(np.arange(len(theirs)) // 50, ours[known], theirs)[1]
    return cell(float(np.abs(difference).max()), inverted)


def rows_of_targets() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = rankers(Path(folder))
        for target in TARGETS:
            cells: dict[str, str | ExportError] = {}
            for kind, ranker in models.items():
                try:
                    cells[kind] = of_target(target, ranker)
                except ExportError as error:
                    cells[kind] = error
            yield [], target.name, cells, target.by


def rows_of_engines() -> Iterator[Row]:
    for name, engine in ENGINES.items():
        cells: dict[str, str | ExportError] = {}
        for kind, one in agreements(name).items():
            if isinstance(one, Agreement):
                cells[kind] = cell(one.from_ranker, one.inverted)
            else:
                cells[kind] = "not run" if one == NOT_SERVED else ExportError(one)
        yield [name], engine.target, cells, engine.of_sources or versions(engine.project)


def table(head: list[str], by: str, given: Iterator[Row]) -> str:
    lines: list[str] = []
    refusals: list[str] = []
    for before, target, cells, last in given:
        words = []
        for one in cells.values():
            if isinstance(one, ExportError):
                line = re.sub(rf"^{target}(?= )", "TARGET", re.sub(r"'(f|Column_)\d'", "'f1'", str(one)))
                refusals += [line] if line not in refusals else []
                one = f"({refusals.index(line) + 1})"
            words.append(one)
        if not lines:
            columns = [*head, *cells, by]
            lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
        lines.append(f"| {' | '.join([*before, f'`{target}`', *words, last])} |")
    inverted = sum(map(int, re.findall(r"\*\*(\d+)\*\*", "".join(lines))))
    lines += ["", f"Inverted pairs that float32 tells apart: {inverted}. Refused:", ""]
    return "\n".join([*lines, *(f"{number}. `{line}`" for number, line in enumerate(refusals, 1))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engines", action="store_true", help="run the engines of the JVM")
    parser.add_argument("--write", type=Path, help="put the table into this page, too")
    options = parser.parse_args()
    try:
        text = (
            table(["engine", "target"], "run", rows_of_engines())
            if options.engines
            else table(["target"], "by", rows_of_targets())
        )
    except NotHereError as error:
        sys.exit(str(error))
    print(text)
    if options.write is not None:
        begin, end = MARKS[options.engines]
        before, _, rest = options.write.read_text().partition(begin)
        options.write.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()

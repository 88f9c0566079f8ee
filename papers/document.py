"""Put the summaries of all four papers into one page.

    python papers/document.py [--out papers/out] [--to docs/papers.md]

reads the summaries that the scripts have written, and trains nothing. Pictures are copied to the folder
`papers` beside the page.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from paper_tables import SMALL

#: The folders of results, and the pictures of each that the page shows.
SUMMARIES = {
    "xu2008": (),
    "xu2008_text": ("curves-*",),
    "qin2010": (),
    "buffoni2011": ("minimised-*", "trained-*"),
    "valizadegan2009": (),
}
#: A table with more values than this prints its first `FEW`; the others are in its CSV file.
MANY, FEW = 5, 3
TABLE_HEAD = "| table | published → ours | near, by the error between our methods |"
INTRODUCTION = """\
# The papers' tables and figures

One script per paper trains its methods on your data and lists every printed number with ours; a rerun
resumes. `OHSUMED` is the folder of LETOR 3.0's release, `OHSUMED_LETOR2` that of LETOR 2.0's, each with
`Fold1 … Fold5`; `TEXTS` has the folders `CRAN`, `CISI` and `NPL` ([text](text.md)). LETOR 3.0's published
rows are in `letor3_baselines.csv` beside the folds (or `--baselines`), as
`dataset,algorithm,split,fold,metric,value`.

Rows show published numbers beside ours, of more than five the first three, those not near first. `near`
counts numbers within two paired standard errors over queries: the median error of a difference between this
method and *our* other methods, as the papers print no values of queries. `in words` are statements. Every
number is in `papers/out/PAPER/TABLE.csv`.

**Not reproduced**: WSJ and AP (licensed by TREC), the first release of TD2003 and TD2004, the named-page and
home-page collections of LETOR 3.0, YLTRC and MQ2007 are not available here (`--data` takes them), so none of
the 36 numbers of Buffoni et al.'s two tables. Table 1 of Qin et al. is from memory, but for the printed
bound. Of differences between values of α (`qin2010.py --sweep`) 5 of 16 training values exceed two errors, of
those to 100 random starts (`--starts 100`) 0 of 54 test values.

AdaRank is the published loop (`adarank` with `variant=paper`); LETOR's rows of AdaRank and FRank
[need more](methods.md#what-the-rows-of-adarank-and-frank-need).

"""


def condensed(summary: str) -> str:
    """Return a summary with one row for each table that has numbers to compare, and counts of the others."""
    head, *sections = re.split(r"^### ", summary, flags=re.MULTILINE)
    head = re.sub(r"^Figures: .*\n+", "", head, flags=re.MULTILINE).rstrip()
    rows, others = [], 0
    for section in sections:
        title, _, rest = section.partition("\n")
        values, counts, near = beside(rest)
        if values:
            rows.append(f"| {title} | {'; '.join([*values, *counts])} | {near} |")
        elif counts:
            others += 1
    if rows:
        head = "\n".join([head, "", TABLE_HEAD, "|---|---|---|", *rows])
    if others:
        head += f"\n\nTables that are equal, in words or without data: {others}."
    return head + "\n"


def beside(section: str) -> tuple[list[str], list[str], str]:
    """Return published numbers beside ours, counts of the others, and how many are near, with the reasons."""
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rows = [row for row in rows if row[3]]
    numbers = [row for row in rows if row[5]]
    compared = [row for row in numbers if row[7]]
    near = [row for row in compared if row[8] == SMALL]
    # The most distant ones first.
    far = sorted((row for row in compared if row not in near), key=lambda row: -_errors(row))
    exact = [row for row in numbers if not row[7] and row[3] == row[4]]
    listed = far + [row for row in numbers if row not in far and row not in exact]
    shown = listed if len(listed) <= MANY else listed[:FEW]
    several = len({row[2] for row in listed}) > 1
    values = [f"{row[1]}{f' {row[2]}' * several} {_short(row[3])}→{_short(row[4])}" for row in shown]
    counts = {
        "more": len(listed) - len(shown),
        "equal": len(exact),
        "in words": sum(bool(row[4]) for row in rows) - len(numbers),
        "without data": sum(not row[4] for row in rows),
    }
    why = "; ".join(dict.fromkeys(row[8].partition(":")[0] for row in far if row[8]))
    told = f"{len(near)} of {len(compared)}" + (f" ({why})" if why else "") if compared else ""
    return values, [f"{n} {what}" for what, n in counts.items() if n], told


def _errors(row: list[str]) -> float:
    return abs(float(row[5])) / max(float(row[7]), 1e-12)


def _short(number: str) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", number)


def pictures(out: Path, script: str, to: Path) -> list[str]:
    """Copy the pictures of a script beside the page; return them as a table of two columns."""
    found = [path for pattern in SUMMARIES[script] for path in sorted((out / script).glob(f"{pattern}.svg"))]
    if not found:
        return []
    folder = to.with_suffix("")
    folder.mkdir(exist_ok=True)
    for path in found:
        shutil.copy(path, folder / path.name)
    shown = [f"![{path.stem}]({folder.name}/{path.name})" for path in found]
    pairs = [" | ".join(shown[i : i + 2]) for i in range(0, len(shown), 2)]
    return ["| | |", "|---|---|", *(f"| {pair} |" for pair in pairs), ""]


def page(out: Path, to: Path) -> str:
    """Return the page, from the summaries of the scripts."""
    paths = [out / script / "summary.md" for script in SUMMARIES]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        sys.exit(f"{missing[0]}: no such file; run the command of docs/papers.md first")
    parts = []
    for script, path in zip(SUMMARIES, paths, strict=True):
        parts += [condensed(path.read_text(encoding="utf-8")), *pictures(out, script, to)]
    return INTRODUCTION + "\n".join(parts)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("papers/out"), help="where the scripts' folders are")
    parser.add_argument("--to", type=Path, default=Path("docs/papers.md"))
    return parser


if __name__ == "__main__":
    options = parser().parse_args()
    options.to.write_text(page(options.out, options.to), encoding="utf-8")

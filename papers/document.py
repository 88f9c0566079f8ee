"""Put the summaries of all four papers into one page.

    python papers/document.py [--out papers/out] [--to docs/papers.md]

reads the summaries that the four scripts have written, and trains nothing.
"""

import argparse
import re
import sys
from pathlib import Path

SUMMARIES = ("xu2008", "xu2008_text", "qin2010", "qin2010/sweep", "buffoni2011", "valizadegan2009")
INTRODUCTION = """\
# The papers' tables and figures

One script for each paper trains the methods of the paper on your copy of its data and lists every printed
number with ours. The scripts are not part of the package, and no data come with them. This page is generated
from their results:

```sh
python papers/xu2008.py --data OHSUMED_LETOR2
python papers/xu2008_text.py --data TEXTS
python papers/qin2010.py --data OHSUMED
python papers/qin2010.py --data OHSUMED --sweep
python papers/buffoni2011.py --data OHSUMED
python papers/valizadegan2009.py --data OHSUMED
python papers/document.py --to docs/papers.md
```

`OHSUMED` is the folder of LETOR 3.0's release, `OHSUMED_LETOR2` that of LETOR 2.0's, each with `Fold1 …
Fold5`; `TEXTS` has the folders `CRAN`, `CISI` and `NPL` ([text](text.md)). `letor3_baselines.csv` beside the
folds (or `--baselines`) holds LETOR 3.0's published rows: `dataset,algorithm,split,fold,metric,value`. Each
script writes a CSV file for each table, SVG files of figures and a summary. Rerun a script to resume it;
`--quick` shortens the ones that take minutes.

How to read a row. A published number is compared with ours by the paired standard error over the 106
queries: `near` counts those within two of them. `other numbers` were printed without queries to compare
them on (statements, times, worked examples) and stand beside ours without a test. Every number, with its
difference, its errors and the cause where one was found, is in the CSV file of the table,
`papers/out/PAPER/TABLE.csv`. Parameters are chosen on validation queries, fold by fold; no parameter is
chosen by a test value. The paragraph at the head of each paper is computed from its tables.

**What cannot be reproduced**: WSJ and AP (news articles of TREC, licensed), the first release of TD2003 and
TD2004, the named-page and home-page collections of LETOR 3.0, and YLTRC are collections that nobody may
redistribute; their printed numbers are listed as `without data`, and the scripts take them with `--data`
from readers who have them. What the papers do not print (Figure 4's bars, the seeds, the criterion of a
stump) has no number to compare with.

What the papers name beyond their experiments: `svm-exponential`, `svm-logistic`, `perceptron`,
`adarank-type-two` and Eq. (7) (Xu et al., 4.2 and 4.3); `ApproxRank(start="annealing")` (Qin et al., 3.5),
which `benchmarks/studies/approx_starts.py --data OHSUMED` compares with the other starts: 60,000 fits, of
which `--seeds 2 --restarts 10` were run; `linear-wpd` and
`consistent-ndcg-sgd` (Buffoni et al., 5.3 and 6). They are [methods](methods.md) like the others.

"""

HEAD = ["table", "numbers", "published", "near", "other numbers", "without data", "reasons"]


def condensed(summary: str) -> str:
    """Return a summary with one row for each of its tables."""
    head, *sections = re.split(r"^### ", summary, flags=re.MULTILINE)
    # The names of figures are in the folder; here they would be half of the page.
    head = re.sub(r"^Figures: .*\n", "", head, flags=re.MULTILINE)
    rows = [head.rstrip(), "", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for section in sections:
        title, _, rest = section.partition("\n")
        rows.append("| " + " | ".join([title, *_counts(rest)]) + " |")
    return "\n".join([*rows, ""])


def _counts(section: str) -> list[str]:
    """Return how many numbers a table has, published ones, near ones, and the reasons for the others."""
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    compared = [row for row in rows if row[3] and row[4] and row[7]]
    near = [row for row in compared if row[8].startswith("within two standard errors")]
    absent = sum(bool(row[3] and not row[4]) for row in rows)
    other = sum(bool(row[3] and row[4]) for row in rows) - len(compared)
    why = dict.fromkeys(row[8].partition(":")[0] for row in compared if row not in near and row[8])
    counts = (
        len(rows),
        sum(bool(row[3]) for row in rows),
        f"{len(near)} of {len(compared)}" if compared else "",
        other,
        absent,
    )
    return [*map(str, counts), "; ".join(why)]


def page(out: Path) -> str:
    """Return the page, from the summaries of the scripts."""
    paths = [out / script / "summary.md" for script in SUMMARIES]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        sys.exit(f"{missing[0]}: no such file; run the command of docs/papers.md first")
    return INTRODUCTION + "\n".join(condensed(path.read_text(encoding="utf-8")) for path in paths)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("papers/out"), help="where the scripts' folders are")
    parser.add_argument("--to", type=Path, default=Path("docs/papers.md"))
    return parser


if __name__ == "__main__":
    options = parser().parse_args()
    options.to.write_text(page(options.out), encoding="utf-8")

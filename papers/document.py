"""Put the summaries of all four papers into one page.

    python papers/document.py [--out papers/out] [--to docs/papers.md]

reads the summaries that the four scripts have written, and trains nothing.
"""

import argparse
import sys
from pathlib import Path

SCRIPTS = ("xu2008", "qin2010", "buffoni2011", "valizadegan2009")
INTRODUCTION = """\
# The papers' tables and figures

One script for each paper trains the methods of the paper on your copy of its data and lists every printed
number with ours. The scripts are not part of the package, and no data come with them. This page is generated
from their results:

```sh
python papers/xu2008.py --data OHSUMED_LETOR2
python papers/qin2010.py --data OHSUMED
python papers/buffoni2011.py --data OHSUMED
python papers/valizadegan2009.py --data OHSUMED
python papers/document.py --to docs/papers.md
```

`OHSUMED` is the folder of LETOR 3.0's release, `OHSUMED_LETOR2` that of LETOR 2.0's, each with `Fold1 …
Fold5`. `letor3_baselines.csv` in the same folder (or `--baselines`) holds LETOR 3.0's published rows:
`dataset,algorithm,split,fold,metric,value`. Each script writes a CSV file for each table, an SVG file for
each figure and a summary. Rerun a script to resume it; `--quick` shortens the ones that take minutes.

How to read a row. `difference` is ours minus published. `standard error` is that of our mean over the 106
queries. Methods on the same queries differ by less: compare `difference` with `paired error`. Up to two
paired errors the last column says so; beyond, it names the reason where one was found, and the table that
shows it. Parameters are chosen on validation queries, fold by fold; no parameter is chosen by a test value.
Results that cannot be reproduced are listed with the printed value and the cause. The paragraph at the head
of each paper is computed from its tables.

What these papers contain and the library does not: boosting and perceptrons for type-two bounds (Xu et al.,
section 4.3) and the text collections WSJ and AP (5.2); simulated annealing (Qin et
al., 3.5); the linear loss of Duchi et al. (Buffoni et al., 5.3); the exponential decrease of the bound
(Valizadegan et al., 3.4).

"""


def page(out: Path) -> str:
    """Return the page, from the summaries of the scripts."""
    paths = [out / script / "summary.md" for script in SCRIPTS]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        sys.exit(f"{missing[0]}: no such file; run papers/{missing[0].parent.name}.py first")
    return INTRODUCTION + "\n".join(path.read_text(encoding="utf-8") for path in paths)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("papers/out"), help="where the scripts' folders are")
    parser.add_argument("--to", type=Path, default=Path("docs/papers.md"))
    return parser


if __name__ == "__main__":
    options = parser().parse_args()
    options.to.write_text(page(options.out), encoding="utf-8")

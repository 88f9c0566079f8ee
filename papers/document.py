"""Put the summaries of all four papers into one page.

    python papers/document.py [--out papers/out] [--to docs/papers.md]

reads what the four scripts have left in their folders, and runs nothing.
"""

import argparse
import sys
from pathlib import Path

SCRIPTS = ("xu2008", "qin2010", "buffoni2011", "valizadegan2009")
INTRODUCTION = """\
# The papers' tables and figures

One command a paper trains what the paper trained, on data that you point at, and puts every printed number
beside ours. Nothing here is in the package; no data come with it. This page is made from the scripts' own
results:

```sh
python papers/xu2008.py --data OHSUMED_LETOR2
python papers/qin2010.py --data OHSUMED
python papers/buffoni2011.py --data OHSUMED
python papers/valizadegan2009.py --data OHSUMED
python papers/document.py --to docs/papers.md
```

`OHSUMED` is the folder of LETOR 3.0's release, `OHSUMED_LETOR2` that of LETOR 2.0's, each with `Fold1 …
Fold5`; `letor3_baselines.csv` beside them (or `--baselines`) holds LETOR 3.0's published rows, one a line:
`dataset,algorithm,split,fold,metric,value`. Each script writes a CSV file a table, an SVG file a figure and
a summary; run again, it takes up where it was left. `--quick` is there where a run takes minutes.

In short. **Xu et al.**: every value printed for OHSUMED is within two standard errors of ours; the tests
at NDCG@1 are not significant here; PermuRank as printed does not converge, and its printed accuracy is
reached by keeping the best round. **Qin et al.**: the approximation is as accurate as said; with one start
a large α is worse, as said, and what a hundred starts change is within noise; NDCG over the whole list
agrees. **Buffoni et al.**: their collections are not at hand; on OHSUMED most differences between losses
are within two standard errors. **Valizadegan et al.**: 0.50 at NDCG@3 is
within two standard errors if stumps are regression trees and not if they maximise η; NDCG_Boost is not
first at most cutoffs.

How to read a row. `difference` is ours minus published. `standard error` is that of our mean over the 106
queries; methods on the same queries differ by less, and `paired error` is what a difference is to be read
with. Up to two of those the last column says so; beyond, it gives the reason, and the tables that show it.
Parameters are chosen on validation queries, fold by fold; nothing is chosen by a test value. What cannot be
regenerated is listed with what was printed, and says why.

"""


def page(out: Path) -> str:
    """Return the page from the summaries in the folders of the scripts."""
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

"""Every engine of the JVM times every kind of ranker: how the engine's own scores agree with the ranker's.

    python benchmarks/system/engines.py [--write docs/export.md]

Rankers and the 600 documents of each are those of tests/jvm; Maven fetches the engines in the first run. Each
cell has the largest difference of scores (without a constant that all scores share), and in bold the inverted
pairs of queries of 50 documents that float32 tells apart.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from jvm.agreement import ENGINES, NOT_SERVED, Agreement, agreements
from jvm.engines import NotHereError, versions

BEGIN, END = "<!-- table of engines -->", "<!-- end of table of engines -->"


def table() -> str:
    lines: list[str] = []
    refusals: list[str] = []
    for name, engine in ENGINES.items():
        try:
            found = agreements(name)
        except NotHereError as error:
            lines.append(f"\n{error}")
            continue
        cells = []
        for one in found.values():
            if isinstance(one, Agreement):
                size = f"{one.from_ranker:.0e}".replace("0e+00", "0")
                cells.append(size + (f", **{one.inverted}**" if one.inverted else ""))
            elif one == NOT_SERVED:
                cells.append("not run")
            else:
                line = re.sub(r"'f\d'", "'f1'", one.replace(f"{engine.target} ", "TARGET ", 1))
                refusals += [line] if line not in refusals else []
                cells.append(f"refused ({refusals.index(line) + 1})")
        if not lines:
            head = ["engine", "target", *found, "run"]
            lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
        lines.append(f"| {name} | `{engine.target}` | {' | '.join(cells)} | {versions(engine.project)} |")
    lines += ["", "Refused, each in one line:", ""]
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

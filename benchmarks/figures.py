"""Make the figures of README's table and of docs again, and say what has moved.

    python benchmarks/figures.py --data FOLDER            the commands of the pages, and what has moved
    python benchmarks/figures.py --data FOLDER --write    and write the tables, with the commit

FOLDER has the collections, or their archives. The commands are those that docs/auto.md and docs/methods.md
print with `--out`, with another place of the data and of `--out`; what an earlier run of the same sources has
finished is not done again. The exit code is 1 if a printed figure is not the one that was made. `nox -s
figures` is this, and `--only methods` one page's.
"""

import argparse
import re
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from directrank.apps.experiments import Comparison, read_results

ROOT = Path(__file__).parents[1]
MEASURES = "AP", "nDCG@10"
#: As README calls the methods.
CALLED = {
    "lambdaloss(nDCG)": "`lambdaloss(nDCG)` (linear)",
    "ranksvm": "`ranksvm` (linear)",
    "lightgbm:lambdarank": "LightGBM's `lambdarank`",
    "xgboost:rank:ndcg": "XGBoost's `rank:ndcg`",
    "xgboost:rank:map": "XGBoost's `rank:map`",
}
Results = Mapping[str, Comparison]


def number(value: float, *, signed: bool = False) -> str:
    """Return a value as the tables print it: without a zero before the point, and with a true minus sign."""
    return f"{value:{'+' * signed}.4f}".replace("0.", ".", 1).replace("-", "−")


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return (
        "\n".join(
            re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(cells)} |")
            for cells in (heads, ["---"] * len(heads), *rows)
        )
        + "\n"
    )


def mean(of: Comparison, method: str, measure: str, convention: str = "standard") -> str:
    """Return the mean of a method as the tables print it, empty where it took no part."""
    value = of.mean(method, measure, convention) if method in of.trained else None
    return "" if value is None else number(value)


def methods_of(results: Results) -> list[str]:
    """Return the methods of the comparisons, `auto` first as it is typed."""
    return next(iter(results.values())).trained


def of_readme(results: Results) -> str:
    """Return README's table: the mean test AP, and the difference to the first row with its interval."""
    rows = []
    for at, method in enumerate(methods_of(results)):
        name = "auto" if at == 0 else method
        cells = [CALLED.get(name, f"`{name}`")]
        for collection in results:
            cells.append(mean(results[collection], method, "AP"))
            pairs = results[collection].content.significance["standard"].pairs["AP"]
            pair = next((pair for pair in pairs if pair.methods == (method, methods_of(results)[0])), None)
            ends = "" if pair is None else f" ({number(pair.low)} to {number(pair.high)})"
            cells.append("" if pair is None else number(pair.difference, signed=True) + ends)
        rows.append(cells)
    return table(["method", *(head for name in results for head in (name, "to `auto`"))], rows)


def of_auto(results: Results) -> str:
    """Return the table of docs/auto.md: the means of both measures."""
    rows = [
        [
            f"`{'auto' if at == 0 else method}`",
            *(mean(results[collection], method, each) for collection in results for each in MEASURES),
        ]
        for at, method in enumerate(methods_of(results))
    ]
    return table(["method", *(f"{name}: {measure}" for name in results for measure in MEASURES)], rows)


def of_choose(results: Results) -> str:
    """Return what docs/choose.md says of `auto`."""
    auto = methods_of(results)[0]
    ap, ndcg = (mean(results["OHSUMED"], auto, each) for each in MEASURES)
    return f"AP {ap} and nDCG@10 {ndcg} on OHSUMED"


def of_methods(results: Results) -> str:
    """Return the table of docs/methods.md: the means in LETOR's convention."""
    measures, of = ("AP", "nDCG@1", "nDCG@10"), results["OHSUMED"]
    rows = [
        [f"`{method}`", *(mean(of, method, measure, "letor3") for measure in measures)]
        for method in of.trained
    ]
    return table(["method", *measures], rows)


#: By page, whose commands make them: documents with figures, where these are, and what makes them.
PRINTED: dict[str, list[tuple[str, str, Callable[[Results], str]]]] = {
    "auto": [
        ("README.md", r"^\| method \| OHSUMED \|.*\n(?:\|.*\n)+", of_readme),
        ("docs/auto.md", r"^\| method \| OHSUMED: AP \|.*\n(?:\|.*\n)+", of_auto),
        ("docs/choose.md", r"AP \S+ and nDCG@10 \S+ on OHSUMED", of_choose),
    ],
    "methods": [("docs/methods.md", r"^\| method \| AP \| nDCG@1 .*\n(?:\|.*\n)+", of_methods)],
}
#: What says the commit of the figures, in the documents above that have one.
COMMIT = re.compile(r"(?<=of commit `)[0-9a-f]+(?=`)")


def commands(page: str) -> dict[str, list[str]]:
    """Return the words of each command that a page prints with `--out`, by collection."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").replace("\\\n", " ")
    typed = [shlex.split(line) for line in text.splitlines() if line.startswith("directrank compare ")]
    return {words[2]: words for words in typed if "--out" in words}


def made(page: str, data: Path, out: Path) -> dict[str, Comparison]:
    """Run the commands of a page, and return the results of each collection."""
    results = {}
    for name, words in commands(page).items():
        folder = data / name
        if not folder.is_dir():
            folder = out / "data" / name
            if not folder.is_dir():
                with tarfile.open(data / f"{name}.tar.xz") as archive:
                    archive.extractall(out / "data", filter="data")
        words[2], words[words.index("--out") + 1] = str(folder), str(out / page / name)
        subprocess.run([sys.executable, "-m", *words], check=True, stdout=subprocess.DEVNULL)
        results[name] = read_results(out / page / name)
    return results


def moved(printed: str, again: str) -> list[str]:
    """Return a line for each figure that is not the printed one, and for lines that are not there."""
    lines, figure = [], re.compile(r"[+−]?0?\.\d{4}")
    pairs = list(zip(printed.splitlines(), again.splitlines(), strict=False))
    if len(printed.splitlines()) != len(again.splitlines()):
        lines.append(f"{len(printed.splitlines())} lines are printed, {len(again.splitlines())} were made")
    for old, new in pairs:
        if old == new:
            continue
        figures = [figure.findall(line) for line in (old, new)]
        if figure.sub("", old) != figure.sub("", new) or len(figures[0]) != len(figures[1]):
            lines.append(f"printed {old!r}, made {new!r}")
            continue
        by = [
            f"{one} → {other} ({number(value(other) - value(one), signed=True)})"
            for one, other in zip(*figures, strict=True)
            if one != other
        ]
        lines.append(f"{new.split(' | ')[0].strip('| ')}: {', '.join(by)}")
    return lines


def value(text: str) -> float:
    """Return the number that the tables print so."""
    return float(text.replace("−", "-"))


def main(words: list[str] | None = None) -> int:
    """Run the commands; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "runs")
    parser.add_argument("--only", choices=PRINTED, help="the commands of one page")
    parser.add_argument("--write", action="store_true", help="write the tables, with the commit")
    given = parser.parse_args(words)
    all_lines: list[str] = []
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "src"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    for page in [given.only] if given.only else PRINTED:
        results = made(page, given.data.resolve(), given.out.resolve())
        for name, pattern, make in PRINTED[page]:
            path, again = ROOT / name, make(results)
            text = path.read_text(encoding="utf-8")
            found = re.search(pattern, text, re.MULTILINE)
            if found is None:
                sys.exit(f"{name} has no figures where {pattern!r} stands")
            lines = [f"{name}, {line}" for line in moved(found[0], again)]
            print("\n".join(lines or [f"{name}: all figures are those that are printed"]))
            all_lines += lines
            if given.write:
                text = text[: found.start()] + again + text[found.end() :]
                path.write_text(COMMIT.sub(commit, text), encoding="utf-8")
    return 1 if all_lines and not given.write else 0


if __name__ == "__main__":
    sys.exit(main())

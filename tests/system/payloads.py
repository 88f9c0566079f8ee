"""Hostile texts in the places of names and paths: shown as they are, and never more than text.

    python tests/system/payloads.py [--count 40]

Each text stands in ten places: the name of the data set, of a method, of a feature, of a query and of a
document; the names of a measure, of an input file and of a folder on the command line; and the paths of `-o`
and `--out`. The page must show the text and have the elements of a page with a harmless text, files must have
the names asked for and no other may appear, and a refusal must be one line without control characters.
"""

import argparse
import contextlib
import csv
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from directrank import QueryGroups, compare, load, make_ranking
from directrank.apps.cli import main as directrank
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import read_results
from directrank.apps.report import render
from directrank.estimators import Regression
from directrank.estimators.method import Configured, Method
from directrank.storage.names import printable, slug
from pages import PAYLOADS
from tally import HungError, Tally, complain, limited

#: Texts that are dangerous in paths, terminals, tables and shells.
OF_PATHS = (
    "../../evil", "/etc/evil", "..", ".", "~root", "-o", "--help", "$(touch evil)", "`touch evil`",
    "|touch evil", "a\nb\rc", "\x1b[31mred\x1b]0;title\x07", "nul\0byte", "CON", "x" * 300, "\udcff\ud800",
    "%s%n{0}", "=1+1,@SUM(1)", "a\tb:c #qid=1", " ",
)  # fmt: skip
TEXTS = (*OF_PATHS, *PAYLOADS[:20])


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and its text."""

    def __init__(self, page: str):
        super().__init__()
        self.found, self.text, self._closed = [], "", True
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Remember an element."""
        self.found.append((tag, *(name for name, _ in attrs)))

    def handle_data(self, data):
        """Remember text, which includes the data of the script."""
        self.text += data


def labelled(folder: Path, text: str) -> str:
    """Compare on data with a text in every name; return the page, and check the results."""
    groups = make_ranking(12, 6, 3, random_state=1)
    qid = [f"{text}{each}" for each in range(36)]
    splits = [
        QueryGroups(
            groups.X, groups.relevance, [qid[12 * part + int(each) - 1] for each in groups.qid],
            feature_names=[f"{text}{k}" for k in "abc"],
        )
        for part in range(3)
    ]  # fmt: skip
    mine = Configured(text, Method("mine", Regression, "mine", ""), None, "AP")
    compare(splits, [mine, "regression"], measures=["AP"], out=folder, name=text)
    result, shown = read_results(folder), printable(text)
    assert (result.dataset, result.trained[0]) == (shown, shown)
    assert result.cells[0]["weights"]["features"] == [printable(f"{text}{k}") for k in "abc"]
    assert result.cells[0]["qid"][0] in (qid[24], printable(qid[24]))
    return render(result)


def on_page(folder: Path, text: str, harmless: list) -> None:
    """Check the places of a comparison: names of the data set, method, feature and query."""
    page = labelled(folder, text)
    elements, shown = Elements(page), printable(text)
    page.encode()
    assert elements.found == harmless, "other elements"
    assert elements.text.count(" ".join(shown.split())) >= 4 or elements.text.count(shown) >= 4, "not shown"


def run(*words: str) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code and what it printed."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as message,
    ):
        code = directrank(list(words))
    return code, out.getvalue(), message.getvalue()


def one_line(code: int, message: str) -> None:
    """Check a refusal: wrong usage or unusable data, in one line that a terminal shows as it is."""
    assert code in (2, 3), (code, message)
    assert message.endswith("\n"), message
    assert message[:-1].isprintable() or not any(ord(each) < 32 for each in message[:-1]), message


def files(folder: Path) -> set[Path]:
    """Return all files and folders below a folder."""
    return {Path(each) for each in folder.rglob("*")}


class Place:
    """A folder deep inside a temporary one, with data, where commands run."""

    def __init__(self, top: Path):
        self.top, self.here = top, top / "a" / "b" / "c" / "d"
        self.here.mkdir(parents=True)
        os.chdir(self.here)
        write_folds(make_ranking(24, 6, 3, random_state=1), self.here / "data")
        self.data = str(self.here / "data" / "Fold1")
        self.train = f"{self.data}/train.txt"

    def made(self, *words: str) -> tuple[int, str, set[Path]]:
        """Run a command; return its exit code, its messages, and the files that it made, now removed."""
        before = files(self.top)
        code, _, message = run(*words)
        found = files(self.top) - before
        for each in sorted(found, reverse=True):
            each.rmdir() if each.is_dir() and not each.is_symlink() else each.unlink()
        return code, message, found

    def names_folder(self, text: str) -> None:
        """`--name` makes a folder below runs/ and no other."""
        words = ["--methods", "regression", "--measures", "AP", "--no-audit", "-q", f"--name={text}"]
        code, message, found = self.made("compare", self.data, *words)
        assert code == 0, message
        runs = self.here / "runs"
        assert all(each in (runs, runs / slug(text)) or each.parent == runs / slug(text) for each in found)

    def target(self, text: str) -> None:
        """`-o` makes the file of this path, or is refused."""
        code, message, found = self.made("fit", "regression", self.train, "-q", "-o", f"out/{text}/model.dr")
        self._exactly(code, message, found, f"out/{text}/model.dr")

    def folder(self, text: str) -> None:
        """`--out` fills the folder of this path, or is refused."""
        words = ["--methods", "regression", "--measures", "AP", "--no-audit", "-q", f"--out=out/{text}/run"]
        code, message, found = self.made("compare", self.data, *words)
        self._exactly(code, message, found, f"out/{text}/run")

    def _exactly(self, code: int, message: str, found: set[Path], path: str) -> None:
        if code:
            one_line(code, message)
        wanted = Path(os.path.normpath(self.here / path))
        parents = {*wanted.parents, Path(os.path.normpath(self.here / "out"))}
        stray = {each for each in found if each not in parents and wanted not in (each, each.parent)}
        assert not stray, stray
        assert code or wanted in found, "no such file"

    def measure(self, text: str) -> None:
        """A measure of this name is refused."""
        one_line(*run("evaluate", self.train, "scores.txt", f"--measures={text}")[::2])

    def missing_file(self, text: str) -> None:
        """A file of this name that is missing, or a folder, is refused."""
        code, _, message = run("evaluate", "--", f"nowhere/{text}", "scores.txt")
        one_line(code, message)

    def documents(self, text: str) -> None:
        """The names of documents and queries come back from tables of scores."""
        groups = make_ranking(4, 5, 3, random_state=1)
        docid = [f"{text}{row}" for row in range(groups.n_docs)]
        named = QueryGroups(groups.X, groups.relevance, groups.qid, docid=docid)
        assert named.select([0]).docid[0].startswith(text)
        rows = [
            {"qid": f"{text}{qid}", "docid": name, "relevance": int(y), "f": float(x)}
            for qid, name, y, x in zip(groups.qid, docid, groups.relevance, groups.X[:, 0], strict=True)
        ]
        with Path("rows.csv").open("w", newline="", encoding="utf-8", errors="replace") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        code, _, message = run("fit", "regression", "rows.csv", "-q", "-o", "rows.dr")
        if code:
            one_line(code, message)
            return
        assert len(load("rows.dr").coef_) == 1
        code, _, message = run("rank", "rows.dr", "rows.csv", "-o", "scores.csv", "-q")
        assert code == 0, message
        with Path("rows.csv").open(newline="", encoding="utf-8") as file:
            given = {(row["qid"].strip(), row["docid"]) for row in csv.DictReader(file)}
        with Path("scores.csv").open(newline="", encoding="utf-8") as file:
            found = {(row["qid"].strip(), row["docid"]) for row in csv.DictReader(file)}
        assert given == found, sorted(given ^ found)[:4]


def checks(place: Place, text: str, number: int, harmless: list) -> Iterator[tuple[int, object]]:
    """Return how many places each check covers, and the check."""
    yield 4, lambda: on_page(place.top / f"run{number}", text, harmless)
    yield 1, lambda: place.names_folder(text)
    yield 1, lambda: place.target(text)
    yield 1, lambda: place.folder(text)
    yield 1, lambda: place.measure(text)
    yield 1, lambda: place.missing_file(text)
    yield 1, lambda: place.documents(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=len(TEXTS), help="texts, of each kind alike")
    given = parser.parse_args()
    tally, back = Tally(), os.getcwd()
    with tempfile.TemporaryDirectory(prefix="payloads-") as name:
        place = Place(Path(name))
        harmless = Elements(labelled(place.top / "harmless", "plain")).found
        for number in range(given.count):
            text = TEXTS[(number * 21) % len(TEXTS)]
            for weight, check in checks(place, text, number, harmless):
                outcome = "survived"
                try:
                    with limited():
                        check()
                except HungError:
                    outcome = "hangs"
                except AssertionError as error:
                    outcome = "wrong"
                    complain((text, check.__code__.co_names, error))
                except Exception as error:
                    outcome = "crashes"
                    complain((text, check.__code__.co_names, error))
                for _ in range(weight):
                    tally.add(outcome)
        os.chdir(back)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

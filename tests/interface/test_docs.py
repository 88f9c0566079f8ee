"""README and docs/: commands that they show can be parsed, and their code of Python does what it says."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer

from directrank import RankSVM, make_ranking
from directrank.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(page: Path) -> list[list[str]]:
    """The words of each command line of directrank in the blocks of shell commands."""
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    lines = re.sub(r"\s+#.*|\\\n", " ", "\n".join(blocks))
    # A quoted list of names may go on on the next line.
    return [shlex.split(each) for each in re.findall(r"""^directrank ((?:"[^"]*"|[^"\n])*)""", lines, re.M)]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_commands_shown_can_be_parsed(page, monkeypatch):
    monkeypatch.setattr("directrank.plugins.load_plugin", lambda path: None)
    group = typer.main.get_command(app)
    for name, *words in commands(page):
        group.commands[name].make_context(name, words).close()


@pytest.mark.parametrize("scaling", ["log", "standard", "none"])
def test_scores_of_a_scaled_model_by_hand(scaling):
    made = make_ranking(20, 8, 4, random_state=0)
    X = np.sign(made.X) * np.expm1(3 * np.abs(made.X))
    X[::7, 1] = np.nan
    ranker = RankSVM(scaling=scaling).fit(X, made.relevance, qid=made.qid)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "scaling.md").read_text(), re.S)
    lines = [line for line in code.splitlines() if scaling == "log" or "logarithm" not in line]
    names = {"np": np, "ranker": ranker, "X": X}
    exec("\n".join(lines), names)
    assert len(code.splitlines()) <= 6
    np.testing.assert_allclose(names["scores"], ranker.predict(X), rtol=1e-12)

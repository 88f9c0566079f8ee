"""Lines that install: messages name the Python that runs, and docs the folder of the sources."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

from directrank.errors import install_line

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_the_line_of_a_message_installs_where_directrank_runs():
    """Another pip would look for directrank on an index, which does not have it yet."""
    program, *others = shlex.split(install_line("text"))
    assert (program, others) == (sys.executable, ["-m", "pip", "install", "directrank[text]"])


def test_docs_install_from_the_folder_of_the_sources():
    """Until the package is on an index, no other line works."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    lines = [line for page in pages for line in re.findall(r"\bpip install ([^`&\n]*)", page.read_text())]
    assert len(lines) > 8
    for line in lines:
        asked = [word for word in shlex.split(line, comments=True) if not word.startswith("-")]
        (named,) = re.findall(r"^\.(?:\[(.*)\])?$", asked[0])
        assert asked[1:] == []
        assert not named or set(named.split(",")) <= EXTRAS.keys(), line


def test_the_line_is_written_in_one_place():
    sources = (ROOT / "src").rglob("*.py")
    writing = {path.name for path in sources if "pip install" in path.read_text()}
    # The other one installs pandas, or matplotlib.
    assert writing == {"errors.py", "tabular.py"}

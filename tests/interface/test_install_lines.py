"""Lines that install: messages name where directrank came from, and docs name the folder of the sources."""

import json
import re
import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from directrank.errors import install_line

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
CLONE = "file:///home/me/directrank"
GIT = "https://example.org/directrank.git"


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, "pip install 'directrank[text]'"),
        ({"url": CLONE, "dir_info": {}}, f"pip install 'directrank[text] @ {CLONE}'"),
        ({"url": CLONE, "dir_info": {"editable": True}}, f"pip install -e '{CLONE}[text]'"),
        ({"url": GIT, "vcs_info": {"vcs": "git"}}, f"pip install 'directrank[text] @ git+{GIT}'"),
    ],
)
def test_an_extra_is_installed_from_where_directrank_came_from(monkeypatch, origin, line):
    class Installed:
        def read_text(self, name):
            return json.dumps(origin) if origin and name == "direct_url.json" else None

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert install_line("text") == line


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
    # The other one installs pandas, which is no extra.
    assert writing == {"errors.py", "results.py"}

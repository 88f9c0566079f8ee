"""Write the commit of the sources into wheels and sdists, where `directrank --version` reads it."""

import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: `describe` gives the commit, with "-dirty" if files differ from it; tags are left out.
COMMIT = ("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


class CommitHook(BuildHookInterface):
    """Adds directrank/COMMIT; an unpacked sdist has the file already, and no repository."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Ask git for the commit, unless the build is an editable one, which reads it when it runs."""
        root = Path(self.root)
        if version == "editable" or not (root / ".git").exists():
            return
        said = subprocess.run(COMMIT, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
        folder = "src/directrank" if self.target_name == "sdist" else "directrank"
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name, "COMMIT")
        file.write_text(said, encoding="utf-8")
        build_data["force_include"][str(file)] = f"{folder}/COMMIT"

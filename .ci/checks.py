"""The static checks of the project: the one list that `.ci/run`, `noxfile.py` and pre-commit use.

    python .ci/checks.py [lint] [types] [docs] [structure]

runs the checks of the named groups, or of all, with the tools of the environment that `python` belongs to. It
runs every check, and fails if one of them fails.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKS = {
    "lint": [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["lint-imports"],
    ],
    "types": [["pyright", "--pythonpath", sys.executable]],
    "docs": [
        ["python", ".ci/docstrings.py"],
        [
            "python",
            "-m",
            "sphinx",
            "--quiet",
            "--fresh-env",
            "--fail-on-warning",
            "--keep-going",
            "docs",
            "site",
        ],
    ],
    "structure": [["python", ".ci/structure.py"]],
}


def main(groups: list[str]) -> int:
    """Run the checks of some groups; return 1 if one fails, 2 if there is no such group."""
    unknown = [each for each in groups if each not in CHECKS]
    if unknown:
        print(f"no checks named {', '.join(unknown)}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    tools = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": tools + os.pathsep + os.environ.get("PATH", "")}
    failed = []
    for command in (command for group in groups or CHECKS for command in CHECKS[group]):
        print("$", " ".join(command), flush=True)
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            failed.append(" ".join(command))
    for command in failed:
        print(f"FAILED: {command}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The files of tests that a change can affect: those whose imports, direct and indirect, reach what changed.

    python .ci/affected.py [REVISION]

prints them, one a line. Changed is what differs from where the branch left REVISION (main), and what git does
not know yet. Imports are read from the sources. A name that a package hands on is followed to the module that
defines it: a test of the text index does not depend on losses because its package also has a search. A test
that starts a process depends on all modules; one that names a folder or a file in a text depends on it.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Where modules are imported from, as pytest is told in pyproject.toml, and the sources.
PLACES = ("src", ".", "tests", "tests/theorems", "tests/browser", "benchmarks/kernels")
#: A module in which others register themselves, which it does not import.
REGISTRIES = {"directrank.registries": ("directrank.apps.papers",)}
TESTS = "tests"
#: Files that decide how every test runs.
OF_ALL = ("pyproject.toml", "tests/conftest.py")
#: A test that has one of these words starts other processes, whose imports are not in its file.
PROCESSES = ("subprocess", "sys.executable")


@cache
def path_of(module: str) -> Path | None:
    """Return the file of a module of this repository, or None of a library."""
    for place in PLACES:
        path = ROOT.joinpath(place, *module.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a file, without what only type checkers read."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    return tree


def is_package(module: str) -> bool:
    """Return whether a module of this repository is a package."""
    path = path_of(module)
    return path is not None and path.name == "__init__.py"


@cache
def sources_of(module: str, name: str) -> frozenset[str]:
    """Return the modules that have to be read for a name of a module."""
    if path_of(f"{module}.{name}"):
        return frozenset([f"{module}.{name}"])
    if not is_package(module):
        return frozenset([module])
    tree = tree_of(path_of(module))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and path_of(node.module):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return sources_of(node.module, alias.name)
        if name in defined(node):
            return frozenset([module])
    # The package finds the name when it is used: in what hands it on in `__all__`, or defines it.
    public = [inside for inside in modules_in(module) if name in handed_on(inside)]
    inner = public or [inside for inside in modules_in(module) if name in top_names(inside)]
    return frozenset().union(*(sources_of(inside, name) for inside in inner)) or frozenset([module])


def defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    is_annotated = isinstance(node, ast.AnnAssign)
    targets = [node.target] if is_annotated else node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


@cache
def top_names(module: str) -> frozenset[str]:
    """Return the names that are defined at the top of a module."""
    return frozenset().union(*map(defined, tree_of(path_of(module)).body))


@cache
def handed_on(module: str) -> frozenset[str]:
    """Return the names in `__all__` of a module."""
    values = [node.value for node in tree_of(path_of(module)).body if "__all__" in defined(node)]
    return frozenset(name for value in values if value for name in ast.literal_eval(value))


@cache
def modules_in(package: str) -> tuple[str, ...]:
    """Return all modules of a package but itself."""
    folder = path_of(package).parent
    files = sorted(folder.rglob("*.py"))
    inner = (".".join(file.relative_to(folder).with_suffix("").parts) for file in files)
    return tuple(f"{package}.{name}".removesuffix(".__init__") for name in inner if name != "__init__")


@cache
def imported(module: str) -> frozenset[str]:
    """Return the modules of this repository that a module imports, or names as text."""
    return frozenset(reached_from(tree_of(path_of(module)))) | set(REGISTRIES.get(module, ()))


def reached_from(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of this repository that a syntax tree imports, or names as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (name for name in names if name != "directrank" and path_of(name))
        elif isinstance(node, ast.ImportFrom) and node.module and path_of(node.module):
            for alias in node.names:
                yield from sources_of(node.module, alias.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from sources_of("directrank", node.attr) if node.value.id == "directrank" else ()
        elif isinstance(node, ast.Constant) and re.fullmatch(r"directrank(\.\w+)+", str(node.value)):
            yield from [node.value] if path_of(node.value) else []


def closure(modules: Iterable[str]) -> set[str]:
    """Return modules with all that they import, directly or not."""
    reached, waiting = set(), set(modules)
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting |= imported(module)
    return reached


@cache
def files_of(test: Path) -> set[Path]:
    """Return the files of this repository that a file of tests reaches, with those of their packages."""
    if any(word in test.read_text(encoding="utf-8") for word in PROCESSES):
        return {test, *(ROOT / "src").rglob("*.py"), *(ROOT / TESTS).glob("*.py")}
    modules = closure(reached_from(tree_of(test)))
    packages = {module.rpartition(".")[0] for module in modules}
    packages |= {package.rpartition(".")[0] for package in packages} | {"directrank"}
    return {test, *(path_of(module) for module in modules | packages if module)} - {None}


def affected(changed: Iterable[str], tests: Iterable[Path]) -> list[Path]:
    """Return those of some files of tests that a change of files, named from the root, can affect."""
    changed = list(changed)
    if set(changed) & set(OF_ALL):
        return list(tests)
    return [test for test in tests if any(reaches(test, files_of(test), name) for name in changed)]


def reaches(test: Path, files: set[Path], name: str) -> bool:
    """Return whether tests reach a changed file: a module, a file beside one, or one that they name."""
    path = ROOT / name
    if path in files or (path.suffix != ".py" and path.parent in {file.parent for file in files - {test}}):
        return True
    words = {name, path.name} if name.startswith("src/") else {name, *Path(name).parts} - {"tests"}
    return not words.isdisjoint(texts_of(test))


@cache
def texts_of(test: Path) -> set[object]:
    """Return the constants in a file of tests."""
    return {node.value for node in ast.walk(tree_of(test)) if isinstance(node, ast.Constant)}


def changed_since(revision: str) -> list[str]:
    """Return the files that differ from where the branch left a revision, and new ones."""
    base = git("merge-base", "HEAD", revision)[0]
    return [*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")]


def git(*words: str) -> list[str]:
    """Return the lines that git prints."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def all_tests() -> list[Path]:
    """Return every file of tests."""
    return sorted((ROOT / TESTS).rglob("test_*.py"))


if __name__ == "__main__":
    for test in affected(changed_since(*sys.argv[1:2] or ["main"]), all_tests()):
        print(test.relative_to(ROOT))

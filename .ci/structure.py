"""Size and structure of the sources: a report, and budgets that a stranger can afford to read.

    python .ci/structure.py [--private [FOLDER …] | --undocumented]

prints lines by folder beside their budgets, the private names that each folder takes from others, counts of
what makes code hard to follow, the share of names that say nothing, and the files and functions of directrank
that a fit, an evaluation and one cell of a comparison pass. It fails where a folder, an application or a
journey is more than 5 % above its budget in budgets.toml; a budget is raised with its reason beside it.

A name is public if and only if a page of docs/reference documents it: a module's `__all__` alone makes none
public. No private name crosses folders; ``--private`` lists those that do, with the files that take
them, and ``--undocumented`` those of an `__all__`.
"""

import ast
import gc
import re
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCES / "directrank"
BUDGETS = Path(__file__).with_name("budgets.toml")
REFERENCE = SOURCES.parent / "docs" / "reference"
#: What a folder or a journey may be above its budget.
AIR = 1.05
#: Names that say nothing: the noun of the field says more.
EMPTY = ["each", "found", "known", "held", "own", "left", "these", "those", "given", "made", "said"]


class Sources:
    """The modules of the package, as syntax trees."""

    def __init__(self) -> None:
        self.files = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
        self.trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in self.files.items()}
        self.nodes = {name: list(ast.walk(tree)) for name, tree in self.trees.items()}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each module imports, those for type checkers included."""
        return {name: self._imported(name) - {name} for name in self.nodes}

    def _imported(self, module: str) -> set[str]:
        imported = set()
        for node in self.nodes[module]:
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                imported |= {name if name in self.files else node.module for name in inner}
        return imported & set(self.files)

    def lines(self) -> dict[str, int]:
        """Return the lines of every folder of the package, of every application, and of all."""
        counts = Counter()
        for path in self.files.values():
            parts = path.relative_to(PACKAGE).parts
            folder = "/".join(parts[:2]) if parts[0] == "apps" and len(parts) > 2 else parts[0]
            counts[folder.removesuffix(".py")] += len(path.read_text(encoding="utf-8").splitlines())
        return {"all": counts.total(), **dict(sorted(counts.items()))}

    def private_imports(self) -> dict[str, dict[str, set[str]]]:
        """Return the undocumented names that each folder takes from others, with the modules that do."""
        names = {}
        for module, nodes in self.nodes.items():
            names.setdefault(folder_of(module), {})
            for node in nodes:
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
                    for alias in node.names:
                        source, name = self._source(node.module, alias.name)
                        if alias.name != "*" and folder_of(source) != folder_of(module):
                            names[folder_of(module)].setdefault(name, set()).add(module)
        del names[""]  # `directrank` itself offers what it imports.
        return {
            folder: {name: of for name, of in sorted(taken.items()) if name not in self.documented}
            for folder, taken in sorted(names.items())
        }

    def _source(self, module: str, name: str) -> tuple[str, str]:
        """Return the module that an import names, and what is imported, by the module that defines it."""
        full = f"{module}.{name}"
        # What a package imports hides its module of the same name.
        imported = self._imported_names.get(module, {}).get(name, (module, name))
        is_module = full in self.files and imported == (module, name)
        return (full, full) if is_module else (module, self.home(module, name))

    def home(self, module: str, name: str) -> str:
        """Return the full name of an object in the module that defines it."""
        while name in self._imported_names.get(module, {}):
            module, name = self._imported_names[module][name]
        return f"{module}.{name}"

    @cached_property
    def _imported_names(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The names that each module imports from others, those of `directrank` itself by its table."""
        names = {
            module: {
                alias.asname or alias.name: (node.module, alias.name)
                for node in nodes
                if isinstance(node, ast.ImportFrom) and node.module
                for alias in node.names
            }
            for module, nodes in self.nodes.items()
        }
        tables = [node for node in self.trees[PACKAGE.name].body if isinstance(node, ast.Assign)]
        table = next(node.value for node in tables if ast.unparse(node.targets[0]) == "_NAMES")
        for package, offered in ast.literal_eval(table).items():
            names[PACKAGE.name] |= {name: (f"{PACKAGE.name}.{package}", name) for name in offered.split()}
        return names

    @cached_property
    def documented(self) -> set[str]:
        """The full names of what a page of the reference documents, and of the modules that have a page."""
        pages = "".join(path.read_text(encoding="utf-8") for path in sorted(REFERENCE.glob("*.md")))
        names = {self.home(PACKAGE.name, name) for name in self._public(PACKAGE.name)}
        for module, options in re.findall(r"\.\. automodule:: (\S+)\n((?: {3}.*\n)*)", pages):
            without = re.search(r":exclude-members: (.*)", options)
            shown = self._public(module) - set(without[1].split(", ") if without else ())
            names |= {module, *(self.home(module, name) for name in shown)}
        entries = r"\.\. (?:auto(?:class|function|data)|py:(?:class|data)):: ((?:\S+\n {13})*\S+)"
        for full in " ".join(re.findall(entries, pages)).split():
            names.add(self.home(*full.rsplit(".", 1)))
        return names

    def undocumented(self) -> list[str]:
        """Return the names that the `__all__` of some module has, and that no page documents."""
        public = {self.home(module, name) for module in self.trees for name in self._public(module)}
        return sorted(public - self.documented)

    def _public(self, module: str) -> set[str]:
        """Return the names in `__all__` of a module."""
        for node in self.trees[module].body if module in self.trees else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return set(ast.literal_eval(node.value))
        return set()

    def empty_names(self) -> dict[str, float]:
        """Return the share in % of bound names that say nothing, by folder and in the core."""
        bound, empty = Counter(), Counter()
        for module, nodes in self.nodes.items():
            folder = folder_of(module)
            names = Counter(map(bound_name, nodes))
            names.subtract({None: names[None], "left": names["left"] * ("right" in names)})  # of a tree
            folders = (folder,) if folder.startswith("apps") else (folder, "the core")
            for name in folders:
                bound[name] += names.total()
                empty[name] += sum(names[word] for word in EMPTY)
        return {name: round(100 * empty[name] / max(1, bound[name]), 2) for name in sorted(bound)}

    def counts(self) -> dict[str, int]:
        """Return how often what makes code hard to follow occurs."""
        nodes = [node for of_module in self.nodes.values() for node in of_module]
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        importers = Counter(name for imported in self.imports.values() for name in imported)
        return {
            "files": len(self.files),
            "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
            "isinstance": sum(isinstance(node, ast.Name) and node.id == "isinstance" for node in nodes),
            "subscripts by strings": sum(map(is_string_subscript, nodes)),
            "functions over seven parameters": sum(parameters(node) > 7 for node in functions),
            "modules with one importer": sum(count == 1 for count in importers.values()),
            "private functions named once": self._named_once(functions),
            "circles of imports": self._circles(),
        }

    def _named_once(self, functions) -> int:
        text = "\n".join(path.read_text(encoding="utf-8") for path in self.files.values())
        words = Counter(re.findall(r"\w+", text))
        return sum(
            f.name.startswith("_") and not f.name.endswith("__") and words[f.name] == 2 for f in functions
        )

    def _circles(self) -> int:
        """Return the number of imports to take away until no circle is left."""
        graph, circles = {name: set(imported) for name, imported in self.imports.items()}, 0
        while True:
            try:
                TopologicalSorter(graph).prepare()
                return circles
            except CycleError as error:
                last, before = error.args[1][:2]
                graph[before].discard(last)
                circles += 1


def module_of(path: Path) -> str:
    """Return the name of the module in a file."""
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def folder_of(module: str) -> str:
    """Return the top-level folder of a module, or the application."""
    return ".".join(module.split(".")[1 : 3 if module.startswith(f"{PACKAGE.name}.apps.") else 2])


def bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds: a parameter, or the target of an assignment or of a loop."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def is_string_subscript(node: ast.AST) -> bool:
    """Say whether a node is such as ``record["seconds"]``."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and type(node.slice.value) is str
    )


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of parameters of a function, without ``self`` and ``cls``."""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    names = [argument.arg for argument in arguments]
    return len([name for name in names if name not in ("self", "cls")])


def passed(action: Callable[[], object]) -> tuple[int, int]:
    """Return the number of files and of functions of the package that run during an action."""
    import directrank

    # The package that is installed need not lie in the folder of the sources.
    package, codes = str(Path(directrank.__file__).parent), set()

    def watch(frame, event, _argument) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and code.co_name != "<module>":
            codes.add((code.co_filename, code.co_qualname))

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return len({file for file, _ in codes}), len(codes)


def journeys() -> dict[str, int]:
    """Return the files and functions that the main jobs pass, the second time they run."""
    from directrank import RankSVM, compare, evaluate, make_ranking, write_letor

    train = make_ranking(30, 10, 5, random_state=0)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fold = Path(name) / "made" / "Fold1"
        fold.mkdir(parents=True)
        for number, part in enumerate(("train", "vali", "test")):
            write_letor(train.select(range(number, 30, 3)), fold / f"{part}.txt")
        scores = train.X[:, 0]
        jobs = {
            "fit": lambda: RankSVM().fit(train),
            "evaluate": lambda: evaluate(train, scores, measures=["AP", "nDCG@10"]),
            "cell": lambda: compare(fold.parent, methods="ranksvm"),
        }
        counted = {}
        for job, action in jobs.items():
            action()
            counted[f"files of {job}"], counted[f"functions of {job}"] = passed(action)
    return counted


def main(arguments: list[str]) -> int:
    """Print the report; return 1 where a budget is exceeded by more than 5 %."""
    gc.disable()  # It would look through the nodes of all syntax trees again and again, and free nothing.
    sources = Sources()
    private = sources.private_imports()
    if arguments[:1] == ["--private"]:
        for folder in arguments[1:] or private:
            print(*(f"{name} in {', '.join(sorted(of))}" for name, of in private[folder].items()), sep="\n")
        return 0
    if arguments == ["--undocumented"]:
        print("\n".join(sources.undocumented()))
        return 0
    report = {
        "lines": sources.lines(),
        "private": {folder: len(names) for folder, names in private.items()},
        "structure": {
            **sources.counts(),
            "documented names": len(sources.documented),
            "undocumented names of an __all__": len(sources.undocumented()),
        },
        "names": sources.empty_names(),
        "journeys": journeys(),
    }
    budgets = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
    exceeded = False
    for table, entries in report.items():
        for name, value in entries.items():
            budget = budgets.get(table, {}).get(name, 0 if table == "private" else None)
            ceiling = budget if table in ("private", "structure") else AIR * (budget or 0)
            over = budget is not None and value > ceiling
            exceeded |= over
            beside = "" if budget is None else f" of {budget:7,}"
            print(f"{table:9} {name:32} {value:7,}{beside}{'  EXCEEDED' if over else ''}")
    missing = set(report["lines"]) - set(budgets["lines"]) - {"all"}
    if missing:
        print(f"no budget in {BUDGETS.name}: {', '.join(sorted(missing))}", file=sys.stderr)
    return int(exceeded or bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

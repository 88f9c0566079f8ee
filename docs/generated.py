"""Pages of the reference that are made from declarations: conf.py writes them before each build."""

import inspect
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

#: Parameters that this many classes declare alike stand once.
COMMON = 3
#: Traits of a surrogate in the table of the equation.
TRAITS = (("bound", "is_bound"), ("convex", "is_convex"), ("smooth", "is_smooth"))


def command_line() -> str:
    """Return the page of the command line: the help of every command."""
    # Help texts are wrapped at a fixed width, without colours; typer reads this when it is imported.
    os.environ |= {"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
    import typer
    from typer.testing import CliRunner

    from directrank.apps.cli.app import app as directrank

    lines = ["# Command line", ""]
    for command in ("", *sorted(typer.main.get_command(directrank).commands)):
        words = [*command.split(), "--help-all"]
        text = CliRunner().invoke(directrank, words, prog_name="directrank").output
        lines += [f"## {' '.join(['directrank', *words[:-1]])}", "", "```text", text.strip(), "```", ""]
    return "\n".join(lines)


def public_names() -> dict[str, list[str]]:
    """Return the names of `import directrank`, under the headings of the overview."""
    import directrank

    headings = ("Rankers", "Data", "Evaluate and compare", "Models", "Errors")
    groups: dict[str, list[str]] = {heading: [] for heading in headings}
    for name in directrank.__all__:
        of = getattr(directrank, name)
        if isinstance(of, str):
            continue
        if isinstance(of, type) and issubclass(of, Exception):
            groups["Errors"].append(name)
        elif isinstance(of, type) and issubclass(of, directrank.Ranker):
            groups["Rankers"].append(name)
        elif re.match(r"directrank\.(data|files|diagnostics)", of.__module__):
            groups["Data"].append(name)
        elif re.match(r"directrank\.(measures|apps\.(evaluation|experiments|report))", of.__module__):
            groups["Evaluate and compare"].append(name)
        else:
            groups["Models"].append(name)
    return groups


def names() -> str:
    """Return the overview of the names of `import directrank`, each with a page."""
    import directrank

    lines = []
    for heading, members in public_names().items():
        rows = []
        for name in members:
            sentence = (inspect.getdoc(getattr(directrank, name)) or "").partition("\n\n")[0]
            rows.append((f"[`{name}`](api/{name}.md)", " ".join(sentence.split()).replace("`_", "_")))
        lines += [f"## {heading}", "", *table(("name", "what it is or does"), rows), ""]
    return "\n".join(lines)


def api_pages() -> dict[str, str]:
    """Return the page of every name of `import directrank`, by its place in docs/."""
    import directrank

    pages = {}
    for name in chain.from_iterable(public_names().values()):
        kind = "class" if isinstance(getattr(directrank, name), type) else "function"
        members = "\n   :members:" * (kind == "class")
        of = getattr(directrank, name)
        inherits = isinstance(of, type) and issubclass(of, directrank.Ranker) and of is not directrank.Ranker
        more = "\n`fit`, `predict` and other methods are on the page of [Ranker](Ranker.md).\n" * inherits
        pages[f"reference/api/{name}.md"] = (
            f"# {name}\n{more}\n```{{eval-rst}}\n.. auto{kind}:: directrank.{name}{members}\n```\n"
        )
    return pages


def parameters() -> str:
    """Return the page of parameters: of each class its methods, their grids, and what it declares."""
    from directrank.estimators.methods import METHODS
    from directrank.estimators.parameters import parameters_of

    lines = [
        "# Parameters", "",
        "Those of `--set` and `--grid`, and of the constructors, by class; `directrank methods NAME` prints "
        "the same. *Grid*: the values from which a comparison chooses on the validation set.", "",
    ]  # fmt: skip
    declared = {each.estimator: tuple(parameters_of(each.estimator).values()) for each in METHODS}
    counts = Counter(row for of in declared.values() for row in map(_parameter, of))
    common = [row for row, number in counts.items() if number >= COMMON]
    head = ("parameter", "default", "allowed", "meaning")
    lines += ["## Of many classes", "", *table(head, common), ""]
    for estimator, of in declared.items():
        lines += [f"## {estimator.__name__}", ""]
        for method in METHODS:
            if method.estimator is estimator:
                grid = "; ".join(f"{name} {_values(values)}" for name, values in method.grid.items())
                fixed = ", ".join(f"{name}={value}" for name, value in method.fixed.items())
                said = [f"`{method.name}`", f"with {fixed}" if fixed else "", f"grid: {grid}" if grid else ""]
                lines.append(f"- {'; '.join(filter(None, said))}")
        rows = list(map(_parameter, of))
        own = [row for row in rows if row not in common]
        shared = ", ".join(row[0] for row in rows if row in common)
        lines += ["", *(table(head, own) if own else []), "", f"And, as above: {shared}.", ""]
    return "\n".join(lines)


def methods() -> str:
    """Return the table of methods."""
    from directrank.estimators.methods import METHODS

    rows = [
        (
            ", ".join(map("`{}`".format, [each.name + "(measure)" * each.takes_measure, *each.aliases])),
            f"`{each.estimator.__name__}`", each.summary, ", ".join(each.grid) or "–", each.paper,
        )
        for each in METHODS
    ]  # fmt: skip
    return "\n".join(table(("name", "class", "what it does", "chosen on validation", "from"), rows))


def measures() -> str:
    """Return the table of measures."""
    from directrank.measures import MEASURES

    cutoff = {"optional": "[@k]", "required": "@k", "none": ""}
    rows = [(f"`{each.bare_name}{cutoff[each.cutoff_is()]}`", each.meaning) for each in MEASURES]
    return "\n".join(table(("name", "what it says"), rows))


def features() -> str:
    """Return the table of features of texts."""
    from directrank.apps.text.features.definitions import DEFINITIONS

    rows = [
        (
            f"`{name}`",
            each.meaning,
            _values(f"{key} = {value:g}" for key, value in each.parameters.items()) or "–",
        )
        for name, each in DEFINITIONS.items()
    ]
    return "\n".join(table(("name", "what it is", "parameters"), rows))


def targets() -> str:
    """Return the table of targets of `export`; those that write the same are one row."""
    from directrank.apps.engines import TARGETS

    rows: dict[str, list[str]] = {}
    for target in TARGETS:
        rows.setdefault(target.summary, []).append(f"`{target.name}`")
    return "\n".join(
        table(("target", "what it writes"), ((", ".join(row), text) for text, row in rows.items()))
    )


def traits() -> str:
    """Return the tables of the equation: methods by their parts, and the traits of these."""
    from directrank.estimators.methods import METHODS, configured
    from directrank.measures import MEASURES

    composed = [each for each in METHODS if not each.estimator.is_ensemble]
    parts = [configured(each.name)[0].build().components() for each in composed]
    rows = [
        (
            f"`{method.name}`", f"`{surrogate.name}`", *(yes(getattr(surrogate, name)) for _, name in TRAITS),
            *(f"`{type(each).__name__}`" for each in others),
        )
        for method, (surrogate, *others) in zip(composed, parts, strict=True)
    ]  # fmt: skip
    head = ("method", "surrogate", *(trait for trait, _ in TRAITS), "solver", "scorer")
    lines = ["## Methods by their parts", "", *table(head, rows), ""]
    offers = {type(surrogate): surrogate.offers for surrogate, *_ in parts}
    rows = [(f"`{cls.__name__}`", oracles(each)) for cls, each in offers.items()]
    lines += ["## Oracles of surrogates", "", *table(("surrogate", "offers"), rows), ""]
    solvers = {type(solver): solver for _, solver, _ in parts}
    rows = [
        (
            f"`{cls.__name__}`", oracles(cls.needs), oracles(cls.uses), f"`{cls.trains.__name__}`",
            yes(each.sums_over_shards),
        )
        for cls, each in solvers.items()
    ]  # fmt: skip
    head = ("solver", "needs", "uses where offered", "trains", "adds up over shards")
    lines += ["## Needs of solvers", "", *table(head, rows), ""]
    rows = [
        (f"`{each.bare_name}`", yes(each.graded), yes(each.bounded), {"none": "no", "required": "needed"}.get(
            each.cutoff_is(), "yes"))
        for each in MEASURES
    ]  # fmt: skip
    head = ("measure", "tells all grades apart", "in [0, 1]", "cutoff")
    return "\n".join([*lines, "## Traits of measures", "", *table(head, rows), ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return [f"| {' | '.join(line)} |" for line in cells]


def yes(trait: bool) -> str:
    """Return the word for a trait."""
    return "yes" if trait else "no"


def oracles(found: Iterable[type]) -> str:
    """Return the names of some oracles."""
    return ", ".join(sorted(each.__name__ for each in found)) or "none"


def _parameter(each) -> tuple[str, str, str, str]:
    return f"`{each.name}`", f"`{each.default!r}`", each.allowed, each.sentence


def _values(values: Iterable) -> str:
    return ", ".join(map(str, values))


#: Pages and parts of pages, by their place in docs/.
PAGES = {
    "reference/command_line.md": command_line,
    "reference/parameters.md": parameters,
    "reference/table_of_methods.md": methods,
    "reference/table_of_names.md": names,
    "reference/table_of_measures.md": measures,
    "reference/table_of_features.md": features,
    "reference/table_of_targets.md": targets,
    "reference/traits.md": traits,
}

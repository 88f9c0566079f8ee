"""Settings selected at the end of their grid, where a wider one may help."""

from collections import defaultdict
from typing import Any

from directrank.report.facts import mean

#: Behind a setting selected at the end of its grid.
MARK = "*"
#: A list of fewer numbers is a choice between alternatives.
FEWEST = 3


def at_the_end(cell: dict[str, Any]) -> list[str]:
    """Return the parameters of a fold for which the first or last number of the grid beats the next one."""
    chosen, found = cell["chosen"], defaultdict(list)
    if cell["validation"] is None:
        return []
    for fit in cell["tried"]:
        found[_key(fit["parameters"])].append(fit["validation"])
    values = {key: mean(each) for key, each in found.items()}
    return [name for name in sorted(chosen) if _still_rises(name, chosen, cell["tried"], values)]


def _still_rises(name: str, chosen: dict[str, Any], tried: list[dict[str, Any]], values) -> bool:
    tested = {fit["parameters"].get(name) for fit in tried if _is_number(fit["parameters"].get(name))}
    numbers = sorted(tested)
    if len(numbers) < FEWEST or chosen[name] not in (numbers[0], numbers[-1]):
        return False
    next_one = numbers[1] if chosen[name] == numbers[0] else numbers[-2]
    here, inside = (values.get(_key(chosen | {name: each})) for each in (chosen[name], next_one))
    return here is not None and inside is not None and here > inside


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _key(parameters: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in parameters.items()))

"""The first thing to read: who leads, by how much, and whether that could be chance."""

from typing import Any

from directrank.experiments.tables.layout import DECIMALS, is_error
from directrank.report.blocks import Strong, Text, Warned, note
from directrank.report.facts import Facts

RULES = {"holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction"}


def opening(facts: Facts) -> list[Any]:
    """Return the blocks above the contents."""
    blocks: list[Any] = [each for each in (_leader(facts), _significance(facts)) if each is not None]
    result = facts.result
    if result.failed:
        blocks.append(
            Warned(
                f"{len(result.failed)} of {len(result.cells)} runs failed. The others are complete; the "
                "errors are under Settings."
            )
        )
    remarks = len(facts.summary["data_check"]["lines"])
    if remarks:
        blocks.append(note(f"The data check has {remarks} remark{'' if remarks == 1 else 's'}, under Data."))
    return blocks


def number(value: float) -> str:
    """Return a value with the decimals of the tables."""
    return f"{value:.{DECIMALS}f}"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return f"{value:+.{DECIMALS}f}".replace("-", "−")


def chance(p: float) -> str:
    """Return a p-value as a reader wants it."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def _leader(facts: Facts) -> Text | None:
    ranked = [
        (method, facts.result.mean(method, facts.main, facts.asked))
        for method in facts.ranked(facts.asked, facts.main)
    ]
    known = [(method, mean) for method, mean in ranked if mean is not None]
    if not known:
        return None
    order = "lowest" if is_error(facts.main) else "highest"
    pieces: list[str | Strong] = [
        Strong(known[0][0]), f" has the {order} mean test {facts.main}, {number(known[0][1])}",
    ]  # fmt: skip
    if len(known) > 1:
        pieces += [
            f": {number(abs(known[0][1] - known[1][1]))} ahead of ", Strong(known[1][0]),
            f" ({number(known[1][1])}){_tested(facts, known[0][0], known[1][0])}",
        ]  # fmt: skip
    return Text([*pieces, "."], "lead")


def _tested(facts: Facts, first: str, second: str) -> str:
    """Return what the test says of the two best."""
    pair = facts.pair(facts.asked, facts.main, first, second)
    if pair is None:
        return _by_folds(facts, first, second)
    tested = facts.tested(facts.asked)
    p = pair[f"p_{tested['correction']}"]
    word = "more than chance" if p < tested["alpha"] else "a difference that may well be chance"
    interval = f"{tested['level']:.0%} interval {signed(pair['low'])} to {signed(pair['high'])}"
    return f", {word} on these {pair['queries']} queries ({interval}, {chance(p)} after correction)"


def _by_folds(facts: Facts, first: str, second: str) -> str:
    n = len(facts.result.folds)
    if n < 2:
        return ""
    sign = -1 if is_error(facts.main) else 1
    values = [
        [facts.result.value(method, fold, facts.main, facts.asked) or 0.0 for fold in facts.result.folds]
        for method in (first, second)
    ]
    wins = sum(sign * ours > sign * theirs for ours, theirs in zip(*values, strict=True))
    return f", and ahead on {wins} of {n} folds: the closer that is to half, the more it may be chance"


def _significance(facts: Facts) -> Text | None:
    """Return which methods the best one is significantly better than, of how many."""
    tested = facts.tested(facts.asked)
    if not any(tested.get("pairs", {}).values()):
        return None
    leader = facts.ranked(facts.asked, facts.main)[0]
    beaten, equal = [], []
    for method in facts.result.methods:
        pair = facts.pair(facts.asked, facts.main, leader, method)
        if pair is not None:
            better = pair[f"p_{tested['correction']}"] < tested["alpha"]
            (beaten if better else equal).append(method)
    if not beaten and not equal:
        return None
    pairs = len(tested["pairs"][facts.main])
    rule = (
        f"Fisher's randomisation test on the queries, p < {tested['alpha']:g} after "
        f"{RULES[tested['correction']]} for {pairs} pair{'' if pairs == 1 else 's'}"
    )
    pieces: list[str | Strong] = []
    if beaten:
        pieces = ["It is significantly better than ", Strong(_listed(beaten))]
        pieces.append(f"; these data cannot tell it from {_listed(equal)}" if equal else "")
    else:
        pieces = [f"These data cannot tell it from any other method: {_listed(equal)}"]
    return Text([*pieces, f" ({rule})."])


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

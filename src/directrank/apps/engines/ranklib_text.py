"""RankLib's text: weighted features as Coordinate Ascent, trees as LambdaMART."""

import re
from xml.etree import ElementTree

import numpy as np

from directrank.apps.engines.documents import Documents
from directrank.apps.engines.function import Function, Split, Target, Version, Written, built, leaf_values

HEADS = {
    "Coordinate Ascent": (
        "Restart = 5", "MaxIteration = 25", "StepBase = 0.05", "StepScale = 2.0", "Tolerance = 0.0010",
        "Regularized = false", "Slack = 0.0010",
    ),
    "LambdaMART": ("No. of threshold candidates = 256", "Learning rate = 1.0", "Stop early = 100"),
}  # fmt: skip


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of a RankLib model."""
    function = function.without_special_cases()
    if function.has_trees:
        kind, body = "LambdaMART", f"\n{_ensemble(function)}"
    else:
        weights = np.zeros(len(function.names))
        np.add.at(
            weights, [term.feature for term in function.terms], [term.weight for term in function.terms]
        )
        words = [f"{at + 1}:{weight!r}" for at, weight in enumerate(weights.tolist())]
        kind, body = "Coordinate Ascent", " ".join(words)
    head = "\n## ".join([kind, *HEADS[kind]])
    needs = ("Features numbered from 1 in the order of the model.", *function.zero_note("RankLib"))
    return Written(f"## {head}\n{body}\n".encode(), needs, function.constant_note("RankLib"))


def _ensemble(function: Function) -> str:
    def leaf(value: float) -> list[str]:
        return [f"\t<output>{float(np.float32(value))!r} </output>"]  # See solr_model.

    def split(node: Split, left: list[str], right: list[str]) -> list[str]:
        lines = [f"<feature>{node.feature + 1} </feature>", f"<threshold> {node.threshold!r} </threshold>"]
        lines += ['<split pos="left">', *left, "</split>", '<split pos="right">', *right, "</split>"]
        return [f"\t{line}" for line in lines]

    lines = ["<ensemble>"]
    for number, tree in enumerate(built(function.trees, leaf, split), 1):
        lines += [f'\t<tree id="{number}" weight="1.0">', "\t\t<split>", *(f"\t\t{line}" for line in tree)]
        lines += ["\t\t</split>", "\t</tree>"]
    return "\n".join([*lines, "</ensemble>"])


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores by RankLib's rule: in float32, and missing values are 0."""
    rows = np.nan_to_num(np.asarray(documents.in_order, np.float32), nan=0.0)
    text = content.decode()
    lines = [line for line in text.split("\n") if line and not line.startswith("##")]
    if not text.startswith("## LambdaMART"):
        total = np.zeros(len(rows))
        for feature, weight in re.findall(r"(\d+):(\S+)", lines[0]):
            total += float(weight) * rows[:, int(feature) - 1].astype(float)
        return total

    def step(node: ElementTree.Element, at: np.ndarray) -> "float | tuple":
        feature, output = node.findtext("feature"), node.findtext("output")
        if feature is None:
            return float(output or "nan")
        first = rows[at, int(feature) - 1] <= np.float32(float(node.findtext("threshold") or "nan"))
        return (first, *node.findall("split"))

    total = np.zeros(len(rows), np.float32)
    for tree in ElementTree.fromstring("".join(lines)):
        total += leaf_values(tree[0], len(rows), step) * np.float32(float(tree.get("weight", "nan")))
    return total


TARGET = Target(
    "ranklib", "RankLib's text, which both LTR plugins read (`model/ranklib`); missing values are 0",
    write, scores,
    "a transcript of RankLib (tree/Split.java, Ensemble.java, CoorAscent.java), as 2.10.1 scores",
    kinds=("linear", "trees"), zero_for_missing=("linear", "trees"), float32=True,
)  # fmt: skip

"""Files of models that are not read, told by their first bytes: each is refused by name, with a remedy."""

import re

SAVE = 'save it by Booster.save_model("{}"), which is read'
SCORE = "which is not read: score with it, and give the run to `directrank evaluate`"
#: What files begin with.
BEGINNINGS = (
    (rb"CBM1", f"a model of CatBoost, {SCORE}"),
    (rb"## (RankNet|LambdaRank|ListNet)\s", f"a network of RankLib, {SCORE}"),
    (rb"binf|bs64", f"XGBoost's old binary form, which is not read: {SAVE.format('model.json')}"),
    (rb"tree\r\n", "LightGBM's text with lines that end in CRLF, which its counts of bytes do not fit: end "
     "them in LF again, as `dos2unix` does"),
    (rb"\x1f\x8b|PK\x03\x04|\x28\xb5\x2f\xfd",
     "not a model of directrank but a compressed file: unpack it"),
    (rb'booster\[\d|\s*\[\s*\{\s*"nodeid"',
     f"XGBoost's dump_model(), which lacks the score before the first tree: {SAVE.format('model.json')}"),
)  # fmt: skip
#: Names in JSON that is no model of XGBoost, which has ``learner``.
NAMES = {
    f"LightGBM's dump_model(), which is not read: {SAVE.format('model.txt')}": {
        b"tree_info",
        b"num_tree_per_iteration",
    },
    f"a model of CatBoost, {SCORE}": {b"oblivious_trees", b"features_info", b"model_info", b"float_features"},
}


def foreign(start: bytes) -> str:
    """Return what to say of a file that begins with these bytes and is not read; "" if it may be."""
    if start.startswith(b"{"):
        names = set(re.findall(rb'"(\w+)"\s*:', start))
        if b"learner" in names or start.startswith(b"{L"):
            return ""
        other = "JSON, but no model of XGBoost, which begins with 'learner'; LightGBM's text is read, too"
        return next((text for text, names_of_library in NAMES.items() if names_of_library & names), other)
    return next((text for form, text in BEGINNINGS if re.match(form, start)), "")

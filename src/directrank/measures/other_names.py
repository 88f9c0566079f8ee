"""Names that other tools have for measures: translated into ours, or refused with the reason."""

import re

from directrank.errors import MeasureNameError

#: Keys of MTEB's results, such as ndcg_at_10, and of trec_eval's, such as iprec_at_recall_0.10.
_AT = re.compile(r"(\w+?)_at_([0-9]+|recall)(?:_[0-9.]+)?")
#: CatBoost: NDCG:top=10;type=Exp.
_CATBOOST = re.compile(r"(\w+):([\w.=;~-]*)")
#: What our measures are called in MTEB's keys where ours is not their word.
_OF_MTEB = {"ndcg": "nDCG(dcg='log2')", "mrr": "RR", "accuracy": "Success"}
#: What they are called in ranx and XGBoost.
_SAME = {"r-precision": "Rprec", "ndcg_burges": "nDCG", "dcg_burges": "DCG", "pre": "P", "f1": "SetF"}
#: What they are called in CatBoost, whose gain is y unless its type is Exp.
_OF_CATBOOST = {
    "ndcg": "nDCG(dcg='log2')", "dcg": "DCG(dcg='log2')", "precisionat": "P", "recallat": "R", "mrr": "RR",
    "map": "AP",
}  # fmt: skip
#: Parameters of CatBoost that change nothing at these values.
_DEFAULTS = {"type=base", "denominator=logposition", "border=0.5", "top=-1"}

_ARITHMETIC = "means over queries are arithmetic here; --per-query prints the values of each query"
_INTERPOLATED = "precision interpolated at levels of recall is not here; AP is near the area below that curve"
_SEVERAL = "it stands for several measures; name each, such as AP,nDCG@10,P@10,RR"
_REASONS = {
    "gm_map": _ARITHMETIC, "gm_bpref": _ARITHMETIC, "gm": _ARITHMETIC,
    "iprec": _INTERPOLATED, "11pt_avg": _INTERPOLATED,
    "num_q": "it is a count, which evaluate prints above the values",
    "official": _SEVERAL, "all_trec": _SEVERAL, "set": _SEVERAL,
    "main_score": "MTEB's tasks differ in their measure; name it, mostly ndcg_at_10",
    "runid": "it is the name of the run, and no measure", "relstring": "it is a text, and no measure",
    "utility": "sums with costs of irrelevant documents are not here; DCG is a sum of gains",
    "queryauc": "name WPD(complement=1), which is that area for two grades",
    "nauc": "MTEB's nAUC judges confidence, not a ranking",
    "hole": "it is 1 less Judged at the same cutoff, such as Judged@10",
    "err:": "CatBoost takes grades for probabilities, and ERR has (2^y - 1)/2^max; name ERR@10",
    "map:": "definitions of AP with a cutoff differ between tools; name AP@10 for map_cut_10 of trec_eval",
    "f1@": "F1 with a cutoff is not here; name P and R with that cutoff, or SetF of all documents retrieved",
}  # fmt: skip


def translated(name: str) -> str:
    """Return a name in our grammar.

    Raises MeasureNameError if the name is that of another tool for what is not here.
    """
    text = name.strip()
    word, sign, cutoff = text.lower().partition("@")
    if at := _AT.fullmatch(text):
        word, cutoff = at[1].lower(), at[2]
        _check(name, word)
        return f"{_OF_MTEB.get(word, at[1])}@{cutoff}" if cutoff.isdigit() else name
    if catboost := _CATBOOST.fullmatch(text):
        return _of_catboost(name, catboost[1].lower(), catboost[2].lower())
    if cutoff.endswith("-"):
        raise MeasureNameError(
            f"{name!r}: XGBoost's - counts a query without a relevant document 0, as here by default; name "
            f"{text[:-1]}"
        )
    _check(name, "nauc" if word.startswith("nauc_") else word + (sign if word == "f1" else ""))
    return _SAME[word] + text[len(word) :] if word in _SAME else name


def _of_catboost(name: str, word: str, parameters: str) -> str:
    options = {option for option in parameters.split(";") if option} - _DEFAULTS
    tops = [option.removeprefix("top=") for option in options if option.startswith("top=")]
    options -= {f"top={top}" for top in tops}
    _check(name, word if word == "queryauc" else f"{word}:" if tops or word == "err" else word)
    ours = _OF_CATBOOST.get(word)
    if ours is not None and "dcg" in word and "type=exp" in options:
        ours, options = ours.partition("(")[0], options - {"type=exp"}
    if ours is None or options:
        raise MeasureNameError(
            f"{name!r}: CatBoost's {', '.join(sorted(options)) or word} is not here; names are as nDCG@10"
        )
    return ours + "".join(f"@{top}" for top in tops)


def _check(name: str, word: str) -> None:
    if word in _REASONS:
        raise MeasureNameError(f"{name!r}: {_REASONS[word]}")

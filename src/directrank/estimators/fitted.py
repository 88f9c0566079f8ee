"""What a fit sets: one list, from which model files, the records of comparisons and the next fit are made."""

from typing import Literal, NamedTuple


class FittedAttribute(NamedTuple):
    """An attribute that a fit sets, and in which form a model has it.

    ``value`` is data as JSON has them, ``array`` has a number for each feature, ``own`` has a form of its own
    (`directrank.models.state`), and what is in ``memory`` alone a loaded model does not have.
    """

    name: str
    form: Literal["value", "array", "own", "memory"] = "value"
    of_all: bool = True  # Of others, that of an earlier fit would contradict this one: `fit` removes it first


FITTED = (
    FittedAttribute("scorer_", "own"),
    FittedAttribute("n_features_in_", "own"),
    # Whoever reads the rows removes the names of an earlier fit: a fit that starts from itself needs them.
    FittedAttribute("feature_names_in_", "own"),
    FittedAttribute("encoding_", "own"),
    FittedAttribute("reading_", "own"),
    FittedAttribute("feature_deviations_", "array", of_all=False),
    FittedAttribute("status_"),
    FittedAttribute("message_"),
    FittedAttribute("certificate_"),
    FittedAttribute("history_"),
    FittedAttribute("notes_"),
    FittedAttribute("training_digest_"),
    FittedAttribute("scaling_"),
    FittedAttribute("scaling_reason_"),
    FittedAttribute("selected_by_"),
    FittedAttribute("refitted_"),
    FittedAttribute("rounds_", of_all=False),
    FittedAttribute("categories_", of_all=False),
    FittedAttribute("members_", of_all=False),
    FittedAttribute("shares_", of_all=False),
    FittedAttribute("library_", of_all=False),
    FittedAttribute("selection_measure_", "memory"),
    # The names of queries may be objects, and are of the training data.
    FittedAttribute("left_out_", "memory"),
    FittedAttribute("rankers_", "memory", of_all=False),
)


def names_in_form(form: str) -> tuple[str, ...]:
    """Return the names of the attributes in a form."""
    return tuple(attribute.name for attribute in FITTED if attribute.form == form)

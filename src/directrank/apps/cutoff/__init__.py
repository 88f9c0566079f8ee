"""Cut-offs of rankings: where to stop, with a promise, and when not to answer."""

from directrank.apps.cutoff.abstention import Abstention
from directrank.apps.cutoff.cutoff import Cutoff, Outcome

__all__ = ["Abstention", "Cutoff", "Outcome"]

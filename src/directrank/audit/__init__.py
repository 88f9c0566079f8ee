"""How tight were the surrogates of a trained model, and where are they loose?"""

from directrank.audit.rows import Audit, Summary, audit

__all__ = ["Audit", "Summary", "audit"]

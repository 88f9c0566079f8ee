"""The audit: how tight were the surrogates of a trained model, and where they are loose."""

from directrank.audit.rows import Audit, Summary, audit, audit_scores

__all__ = ["Audit", "Summary", "audit", "audit_scores"]

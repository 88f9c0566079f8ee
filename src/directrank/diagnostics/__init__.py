"""Diagnostics: what can be asked of data, losses and models."""

from directrank.diagnostics.audit import Audit, Summary, audit, audit_scores
from directrank.diagnostics.data_check import DataCheck, Finding, check_data

__all__ = ["Audit", "DataCheck", "Finding", "Summary", "audit", "audit_scores", "check_data"]

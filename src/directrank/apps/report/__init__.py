"""Results as one self-contained HTML page."""

from directrank.apps.report.card import ModelCard, model_card
from directrank.apps.report.page import render, write_report
from directrank.apps.report.pictures import audit_chart

__all__ = ["ModelCard", "audit_chart", "model_card", "render", "write_report"]

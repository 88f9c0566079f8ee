"""Results as one self-contained HTML page."""

from directrank.apps.report.card import ModelCard, model_card
from directrank.apps.report.page import render, render_clicks, write_report

__all__ = ["ModelCard", "model_card", "render", "render_clicks", "write_report"]

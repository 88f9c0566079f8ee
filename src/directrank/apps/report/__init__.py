"""Results as one self-contained HTML page."""

from directrank.apps.report.page import render, write_report

__all__ = ["render", "write_report"]

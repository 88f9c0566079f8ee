"""Small drawings for the page, and pictures as files for audits and papers."""

from directrank.report.charts.dots import axis, dot_row
from directrank.report.charts.lines import Line, line_chart
from directrank.report.charts.scale import Scale

__all__ = ["Line", "Scale", "axis", "dot_row", "line_chart"]

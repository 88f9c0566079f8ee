"""Small drawings: SVG whose places across are percentages, so that text never shrinks."""

from directrank.report.charts.dots import axis, dot_row
from directrank.report.charts.lines import Line, line_chart
from directrank.report.charts.scale import Scale, Tick

__all__ = ["Line", "Scale", "Tick", "axis", "dot_row", "line_chart"]

"""Small drawings for the page, and pictures as files for audits and papers."""

from directrank.report.charts.dots import axis, dot_row
from directrank.report.charts.lines import Line, line_chart
from directrank.report.charts.pictures import Dot, dot_picture, line_picture
from directrank.report.charts.scale import Scale, Tick

__all__ = ["Dot", "Line", "Scale", "Tick", "axis", "dot_picture", "dot_row", "line_chart", "line_picture"]

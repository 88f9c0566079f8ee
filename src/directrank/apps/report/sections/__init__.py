"""The sections of the page: functions from a comparison to their blocks."""

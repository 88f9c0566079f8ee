"""Doing what is planned: fits, cells, processes, interruptions."""

"""Processes, leases and the store that they share."""

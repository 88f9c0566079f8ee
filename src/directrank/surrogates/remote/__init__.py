"""Objectives whose features are in other processes."""

"""Evaluation of scores by measures, under a convention."""

"""Surrogates that replace positions: smoothed, expected, under Gaussian noise."""

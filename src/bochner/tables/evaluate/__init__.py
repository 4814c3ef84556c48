"""Evaluation of a model on held-out rows, and comparison with baselines."""

"""Evaluation of a model on held-out rows, beside baselines."""

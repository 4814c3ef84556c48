"""Gradient boosting with Fourier features."""

"""Margin game: a learner that searches for frequencies with large Fourier coefficients."""

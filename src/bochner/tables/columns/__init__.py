"""Columns of a table: their kinds, and how values are converted to numbers."""

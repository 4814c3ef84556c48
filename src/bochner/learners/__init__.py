"""Stateless rules `measure, X, y -> measure`."""

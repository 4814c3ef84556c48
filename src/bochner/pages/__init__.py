"""Self-contained HTML pages over results and models."""

from .experiment import write_experiment, write_index

__all__ = ["write_experiment", "write_index"]

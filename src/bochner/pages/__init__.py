"""Self-contained HTML pages over results and models: no network, light and dark, sortable tables."""

from .experiment import write_experiment, write_index
from .model import model_page

__all__ = ["model_page", "write_experiment", "write_index"]

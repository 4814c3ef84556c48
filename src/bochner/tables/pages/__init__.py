"""Self-contained HTML pages over results and models: no network, light and dark, sortable tables."""

from .model import model_page

__all__ = ["model_page"]

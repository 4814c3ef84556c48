"""Self-contained HTML pages about models: no network, light and dark, sortable tables."""

from .model import model_page

__all__ = ["model_page"]

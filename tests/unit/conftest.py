"""Fixtures that several files of this folder share."""

from runner_samples import lab

__all__ = ["lab"]

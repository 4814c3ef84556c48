"""Fixtures that several files of this folder share."""

from runner_samples import forked_workers, lab, workers_in_process

__all__ = ["forked_workers", "lab", "workers_in_process"]

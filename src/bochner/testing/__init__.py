"""Conformance checks for priors, learners, operator-valued kernels and losses of your own."""

from .kernels import check_operator_kernel, check_prior
from .learners import check_learner
from .losses import check_loss

__all__ = ["check_learner", "check_loss", "check_operator_kernel", "check_prior"]

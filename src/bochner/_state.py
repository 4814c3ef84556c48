"""Fitted state that is whole."""

from collections.abc import Callable
from functools import wraps


def all_or_nothing(method: Callable) -> Callable:
    """A fit that fails or is interrupted leaves the estimator as it was: the old model, or none.

    Methods under it set attributes and never change what an attribute holds.
    """

    @wraps(method)
    def whole(self, *arguments, **keywords):
        before = dict(vars(self))
        try:
            return method(self, *arguments, **keywords)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return whole

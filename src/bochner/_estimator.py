"""Template of estimators: nested parameters, ``fit``, callbacks, and labels from scores."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._checks import refuse_class
from ._terminal.progress import listening, track
from .data import Block, Rows, gathered, with_the_scheduler
from .data.checks import check_rows, check_weights
from .data.targets import Values
from .data.training import TrainingData
from .losses import predicted_codes

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Base class without methods."""

    def with_callbacks(method):
        """Return the method unchanged."""
        return method


_Class = TypeVar("_Class", bound=type)


def _component(self: Any, name: str, kind: type | None = None) -> Any:
    """Return the parameter ``name``, or the object that None stands for, and check its type."""
    value, default = getattr(self, name), self._defaults[name]
    refuse_class(value, name)
    if value is not None and kind is not None and not isinstance(value, kind):
        raise TypeError(
            f"{name} must be an object of {kind.__name__}, got {value!r}. "
            f"Write e.g. {name}={default!r}."
        )
    return clone(default) if value is None else value


def _set_params(self: Any, **parameters: Any) -> Any:
    """Set parameters, nested ones also while the outer one is None; see scikit-learn."""
    own = self.get_params(deep=False)
    for key in list(parameters):
        name, nested, inner = key.partition("__")
        if not nested or name not in own or parameters.get(name, own[name]) is not None:
            continue
        if name not in self._defaults:
            raise ValueError(
                f"{name}=None of {type(self).__name__} has no parameter {inner!r}. Give an object "
                f"first, then set {key}."
            )
        parameters[name] = clone(self._defaults[name])
    return BaseEstimator.set_params(self, **parameters)


class NestedDefaults(BaseEstimator):
    """Base of parameter objects: ``prior__gamma=2.0`` also works while ``prior`` is None.

    ``_defaults`` maps names of parameters to the objects that None stands for. These objects are
    never changed, only cloned.
    """

    _defaults: ClassVar[Any] = {}  # a property if defaults depend on other parameters
    _component = _component
    set_params = _set_params


def restore_on_failure(method: Callable) -> Callable:
    """Restore the previous attributes of an estimator if a method raises or is interrupted.

    The method may set attributes, but must not change their values in place.
    """

    @wraps(method)
    def restored(self, *arguments, **keywords):
        before = dict(vars(self))
        try:
            return method(self, *arguments, **keywords)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return restored


class FitTasks:
    """Tasks of a fit that are reported to scikit-learn's callbacks; ``context`` is None without.

    ``restore_on_failure`` must be outside of ``with_callbacks``, which ends the callbacks by
    attributes that it has set on the estimator.
    """

    def __init__(self, estimator: Any, n_tasks: int | None, X: Any, y: Any):
        self.data = {"estimator": estimator, "X": X, "y": y}
        self.context: Any = None
        if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
            self.context = estimator._init_callback_context(max_subtasks=n_tasks)
            self.context.call_on_fit_task_begin(**self.data)

    def each(self, stage: str, names: Sequence[str]) -> Iterator[int]:
        """Yield 0, 1, …, one task for each name, until a callback requests to stop.

        Without callbacks, a progress bar shows the stage.
        """
        if self.context is None:
            yield from track(range(len(names)), stage, total=len(names))
            return
        for k, name in enumerate(names):
            task = self._begin(f"{stage}: {name}")
            yield k
            if task.call_on_fit_task_end(**self.data):
                return

    def finished(self, name: str, attributes: Callable[[], dict[str, Any]] | None = None) -> bool:
        """Report a task that has ended; return True if a callback requests to stop.

        ``attributes`` returns those of a fitted copy, for callbacks.
        """
        if self.context is None:
            return False
        task = self._begin(name)
        return bool(task.call_on_fit_task_end(**self.data, reconstruction_attributes=attributes))

    def close(self, attributes: Callable[[], dict[str, Any]]) -> None:
        """Report the end of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.data, reconstruction_attributes=attributes)

    def _begin(self, name):
        task = self.context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self.data)
        return task


def reporting(fit: Callable) -> Callable:
    """Report the steps of ``track`` and ``step_done`` to the callbacks of a fit as its tasks.

    Iterations with ``track`` end when a callback requests to stop.
    """

    @with_callbacks
    @wraps(fit)
    def reporting_fit(self, X, y=None, *arguments, **keywords):
        tasks = FitTasks(self, None, X, y)
        # Without callbacks, or with those of an outer estimator, which listens already.
        if tasks.context is None:
            return fit(self, X, y, *arguments, **keywords)
        with listening(tasks.finished):
            fit(self, X, y, *arguments, **keywords)
        tasks.close(dict)
        return self

    return reporting_fit


class Estimator(CallbackSupportMixin, BaseEstimator):
    """Template of predictors and feature maps.

    ``fit`` checks the parameters, reads the data once, and calls ``_fit``. A fit that raises or is
    interrupted leaves the previous model unchanged. Nested parameters work as in
    ``NestedDefaults``.
    """

    _defaults: ClassVar[Any] = {}
    _accepts_missing_outputs: ClassVar[bool] = False  # NaN in a two-dimensional y
    _component = _component
    set_params = _set_params

    @restore_on_failure
    @reporting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X with targets y.

        Parameters
        ----------
        X : array, sparse matrix, frame, memory map, or Dask collection of shape (n_rows, n_columns)
            The rows.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The targets.
        sample_weight : array of shape (n_rows,), default None
            Weights of the rows; None weighs all rows equally.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._fit(self._read(X, y, sample_weight))
        return self

    def _check_parameters(self) -> Any:
        """Raise an error for parameters that cannot be used, before any data is read."""

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Validate the data of ``fit``."""
        rows = self._read_rows(X, reset=not self._continues())
        return self._with_target(rows, y, sample_weight)

    def _continues(self) -> bool:
        """Return True if the next fit is a warm start, which continues the previous one."""
        return getattr(self, "warm_start", False) and self.__sklearn_is_fitted__()

    def _with_target(self, rows: Rows, y: Any, sample_weight: Any) -> TrainingData:
        """Validate y and the weights; a classifier's are multiplied with those of its classes."""
        if is_classifier(self):
            class_weight, owner = getattr(self, "class_weight", None), type(self).__name__
            return TrainingData.of_labels(rows, y, sample_weight, class_weight, owner=owner)
        target, weights = self._check_target(y, len(rows)), check_weights(sample_weight, len(rows))
        if self._accepts_missing_outputs:
            return TrainingData.of_outputs(rows, target, weights)
        return TrainingData(rows, target, weights)

    def _check_target(self, y: Any, n_rows: int) -> Any:
        """Validate y of an estimator that is not a classifier; None if y is not needed."""
        partial = self._accepts_missing_outputs
        return Values.of(y, n_rows, owner=type(self).__name__, partial=partial)

    def _read_rows(self, X: Any, *, reset: bool = False) -> Rows:
        """Validate the rows of a first fit (``reset``), or those given to a fitted model."""
        if not reset:
            check_is_fitted(self)
        return check_rows(self, X, reset=reset, block_size=self._row_block_size())

    def _row_block_size(self) -> int | str:
        """Return the number of rows that are processed at once, or "auto"."""
        return "auto"

    @abstractmethod
    def _fit(self, data: TrainingData) -> Any:
        """Fit to checked data, and set the fitted attributes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Classifier(ClassifierMixin):
    """Mixin of classifiers: turns scores into labels and probabilities.

    A subclass defines ``classes_``, ``_score_block`` (or ``_map_scores``) and ``_probabilities``.
    Scores have one column for two classes (positive for the second), or one column per class.
    """

    classes_: np.ndarray

    def _map_scores(self, X: Any, function: Callable, n_columns: int | None, dtype: Any) -> Any:
        """Return ``function(scores)`` of all rows, block by block; rows on Dask stay lazy."""
        rows, scores = self._read_rows(X), self._score_block()
        block = Block(_apply_block, scores, function, row_bytes=getattr(scores, "row_bytes", 0))
        return rows.map(block, n_columns, dtype=dtype)

    def _score_block(self) -> Callable:
        """Return the function from a block of rows to its scores."""
        raise NotImplementedError

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of all classes, (n_samples, n_classes)."""
        raise NotImplementedError

    def _has_probabilities(self) -> bool:
        """Return False if there is no ``predict_proba``."""
        return True

    @staticmethod
    def _decision(scores: np.ndarray) -> np.ndarray:
        """Return one score per row for two classes: the only one, or the difference of the two."""
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classes.

        For two classes the shape is (n_samples,), and positive scores mean the second class. For
        more classes it is (n_samples, n_classes).
        """
        check_is_fitted(self)
        n_columns = None if len(self.classes_) == 2 else len(self.classes_)
        function = self._decision if n_columns is None else np.asarray
        return self._map_scores(X, function, n_columns, None)

    def predict(self, X: Any) -> Any:
        """Return the class with the largest score; of two, the second if its score is positive."""
        check_is_fitted(self)
        return self._map_scores(X, self._labels, None, self.classes_.dtype)

    @property
    def _labels(self) -> Callable:
        """Function from scores to labels; workers receive it without the estimator."""
        return partial(_predicted_labels, self.classes_)

    @available_if(lambda model: model._has_probabilities())
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        check_is_fitted(self)
        return self._map_scores(X, self._probabilities, len(self.classes_), None)

    @available_if(lambda model: model._has_probabilities())
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities of the classes."""
        return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on X and y, which may also be Dask collections."""
        return score_in_memory(super().score, X, y, sample_weight)


def _apply_block(scores, function, X, out):
    out[...] = function(scores(X))


def _predicted_labels(classes, scores):
    return classes[predicted_codes(scores)]


def score_in_memory(score: Callable, X: Any, y: Any, sample_weight: Any) -> float:
    """Call scikit-learn's ``score`` with y and weights in memory; both may be Dask collections."""
    with with_the_scheduler():
        return score(X, gathered(y), gathered(sample_weight))


def keyword_only_from(version: str, *, old_order: tuple[str, ...]) -> Callable[[_Class], _Class]:
    """Accept the former positional parameters of a class, with a FutureWarning.

    ``old_order`` lists the parameters that could be given by position. The signature of the class
    is keyword-only, as ``get_params`` and ``clone`` need it. In release ``version`` the decorator
    is removed.

    >>> @keyword_only_from("0.4", old_order=("rows",))
    ... class Table:
    ...     def __init__(self, *, rows=3):
    ...         self.rows = rows
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Table(5).rows
    5
    >>> print(caught[0].message)
    Write Table(rows=...): from bochner 0.4 on, this parameter must be given by name.
    """

    def decorate(cls: _Class) -> _Class:
        keyword_only: Callable[..., None] = cls.__init__  # type: ignore[misc]

        @wraps(keyword_only)
        def __init__(self: Any, *positional: Any, **keywords: Any) -> None:
            if not positional or len(positional) > len(old_order):
                return keyword_only(self, *positional, **keywords)
            named = dict(zip(old_order, positional))
            written = ", ".join(f"{name}=..." for name in named)
            noun = "this parameter" if len(named) == 1 else "these parameters"
            warnings.warn(
                f"Write {type(self).__name__}({written}): from bochner {version} on, {noun} must "
                "be given by name.",
                FutureWarning,
                stacklevel=2,
            )
            return keyword_only(self, **named, **keywords)

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate

"""SpectralRidge: ridge regression on the features of a measure, by sums over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._compute import is_dask, row_block_size
from .._validation import check_rows
from ..features import SpectralFeatures
from ..measures import FourierMeasure
from ..priors import Gaussian
from .checks import check_alphas, check_targets, check_weights, refuse_choice, resolved_for_weights
from .eigen import (
    OutputBasis,
    RowWork,
    direct_ridge,
    eigen_ridge,
    explained,
    leave_one_out_errors,
    leave_one_out_predictions,
    predictive_variance,
    small_system,
    whole_system,
)
from .fields import evaluate, jacobian_coefficients
from .solver_choice import gram_fits
from .statistics import RidgeStatistics, block_features, target_shift


class SpectralRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Ridge regression on spectral features: minimizes Σ_i ‖Φ(x_i) w + b − y_i‖² + α ‖w‖².

    The n x 2D feature matrix is never held: the normal equations are summed over blocks of rows.

    Parameters
    ----------
    features : SpectralFeatures or any transformer, default ``SpectralFeatures()``
        With a learner inside, the ridge runs on the learned measure.
    alpha : float or list of floats, default 1.0
        The ridge, as in scikit-learn's ``Ridge``.  From a list the one with the smallest exact leave-one-out error is
        taken; all of them cost one factorization and one more pass over the rows.  Leave-one-out cannot see what a
        learner took from y: with learned features it is optimistic.
    fit_intercept : bool, default True
    random_state : None, int, RandomState or Generator
        When given, it replaces that of ``features``.

    Attributes
    ----------
    coef_ : (n_outputs, n_columns), or (n_columns,) for one-dimensional y
    intercept_ : (n_outputs,) or a number
    features_ : the fitted transformer; ``measure_`` is its measure
    alpha_ : the ridge in use
    loo_errors_ : mean squared leave-one-out error of each of several ridges
    noise_variance_ : the most likely variance of the noise, for each output

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(alpha=[1e-3, 1e-2, 1e-1], random_state=0).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    def __init__(self, features: Any = None, *, alpha: Any = 1.0, fit_intercept: bool = True, random_state: Any = None):
        self.features = features
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpectralRidge:
        """Fit the features, then the ridge."""
        alphas, several = check_alphas(self.alpha)
        X = check_rows(self, X, reset=True).source
        y = check_targets(self, X, y, need_columns=False)
        weights = check_weights(sample_weight, X)
        self.features_ = self._fitted_features(X, y, weights)
        self._one_dimensional = y.ndim == 1
        targets = y[:, None] if self._one_dimensional else y
        mapped = block_features(self._source())
        with row_block_size(self._block_size()):
            n_columns = 0 if is_dask(X) else mapped(X[:1]).shape[1]
            small = X.shape[0] < n_columns
            shift = target_shift(targets, weights, self.fit_intercept)
            # Few rows do not need the large matrix; where it is not too large it is kept for partial_fit.
            whole_gram = not small or gram_fits(n_columns)
            self._statistics = RidgeStatistics.of(mapped, X, targets, weights, shift, whole_gram=whole_gram)
            self._solve(alphas, several, small, X, targets, weights)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpectralRidge:
        """Add rows; after any sequence of calls the ridge is that of all rows together, up to rounding.

        The features come from the first call, also what a learner learns.  The system is solved in each call: a call for
        many rows is cheaper than many calls.
        """
        alphas, several = check_alphas(self.alpha)
        refuse_choice(several)
        first = not hasattr(self, "_statistics")
        X = check_rows(self, X, reset=first).source
        y = check_targets(self, X, y, need_columns=False)
        weights = check_weights(sample_weight, X)
        targets = y[:, None] if y.ndim == 1 else y
        if first:
            self.features_ = self._fitted_features(X, y, weights)
            self._one_dimensional = y.ndim == 1
        else:
            self._check_continuation(y)
        with row_block_size(self._block_size()):
            shift = target_shift(targets, weights, self.fit_intercept) if first else self._statistics.shift
            added = RidgeStatistics.of(block_features(self._source()), X, targets, weights, shift)
            before = None if first else self._statistics
            self._statistics = added if before is None else before + added
            try:
                self._solve(alphas, several)
            except BaseException:  # also an interruption: the rows may be given again
                if before is None:
                    del self._statistics
                else:
                    self._statistics = before
                raise
        return self

    def _check_continuation(self, y):
        n_outputs = len(self._statistics.shift)
        if (y.ndim == 1) != self._one_dimensional or (y.ndim == 2 and y.shape[1] != n_outputs):
            before = "one dimension" if self._one_dimensional else f"{n_outputs} columns"
            raise ValueError(f"y has shape {tuple(y.shape)}, but in earlier calls it had {before}.")
        if self._statistics.gram.ndim == 1:
            raise ValueError(
                f"fit had fewer rows than features, and the Gram matrix of {len(self._statistics.gram)} features was too large "
                "to be kept for more. Give those rows to partial_fit of a new model first."
            )

    def _solve(self, alphas, several, small=False, X=None, targets=None, weights=None):
        """From the sums to coefficients; rows are needed for a choice of ridges, and where they are fewer than features."""
        statistics = self._statistics
        basis = self._basis = OutputBasis(np.eye(len(statistics.shift)), np.ones(len(statistics.shift)))
        used = statistics.centered() if self.fit_intercept else statistics
        for name in ("_work", "loo_errors_"):
            self.__dict__.pop(name, None)
        self.alpha_ = float(alphas[0])
        solved = None if small or several else direct_ridge(used, basis, self.alpha_)
        if solved is None:
            system = None
            if small:
                mapped = block_features(self._source())
                system = small_system(mapped, statistics, self.fit_intercept, X, targets, weights)
            work = self._eigen_work(system)
            if several:
                self.loo_errors_ = leave_one_out_errors(work, alphas, X, targets, weights)
                self.alpha_ = float(alphas[np.argmin(self.loo_errors_)])
            solved = eigen_ridge(work.system, basis, self.alpha_), explained(work.system, basis, self.alpha_)
        self._store(used, *solved)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions, and with ``return_std`` the standard deviation of an observation around them.

        The deviation is that of the Bayesian linear model which the ridge is the mean of, with the most likely noise.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        coefficients = np.atleast_2d(self.coef_).T
        with row_block_size(self._block_size()):
            mean = evaluate(self._source(), X, coefficients, self.intercept_)
            mean = mean[:, 0] if self._one_dimensional else mean
            if not return_std:
                return mean
            variance = predictive_variance(self._eigen_work(), self.alpha_, np.atleast_1d(self.noise_variance_), X)
        deviation = np.sqrt(variance)
        return mean, deviation[:, 0] if self._one_dimensional else deviation

    def jacobian(self, X: Any) -> np.ndarray:
        """∂f/∂x, (n_samples, n_outputs, n_features), or (n_samples, n_features) for one-dimensional y; exact."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        measure = getattr(self.features_, "measure_", None)
        if not isinstance(measure, FourierMeasure):
            raise TypeError(f"Derivatives need features on a FourierMeasure, got {self.features_!r}.")
        coefficients = jacobian_coefficients(measure, np.atleast_2d(self.coef_).T)
        with row_block_size(self._block_size()):
            slopes = evaluate(self._source(), X, coefficients)
        shape = (-1,) if self._one_dimensional else (np.atleast_2d(self.coef_).shape[0], -1)
        return slopes.reshape(X.shape[0], *shape)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """The prediction of each training row by the fit without it, exactly; X and y must be rows of the training data."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False).source
        y = check_targets(self, X, y, need_columns=False)
        weights = check_weights(sample_weight, X)
        left_out = leave_one_out_predictions(self._eigen_work(), self.alpha_, X, y.reshape(X.shape[0], -1), weights)
        return left_out[:, 0] if self._one_dimensional else left_out

    @property
    def measure_(self) -> Any:
        """The measure of the features."""
        return self.features_.measure_

    def _fitted_features(self, X, y, weights):
        features = SpectralFeatures() if self.features is None else clone(self.features)
        if self.random_state is not None:
            features.set_params(random_state=self.random_state)
        if weights is not None and isinstance(features, SpectralFeatures):
            prior = Gaussian(gamma="scale") if features.prior is None else features.prior
            features.set_params(prior=resolved_for_weights(prior, X, weights))
        return features.fit(X, y)

    def _source(self):
        """The measure where there is one: its rows need no second check."""
        measure = getattr(self.features_, "measure_", None)
        return self.features_ if measure is None else measure

    def _block_size(self):
        return getattr(self.features_, "block_size", "auto")

    def _eigen_work(self, system=None):
        """Eigenvectors for passes over rows; made when first asked for."""
        if not hasattr(self, "_work"):
            system = whole_system(self._statistics, self.fit_intercept) if system is None else system
            mapped = block_features(self._source())
            self._work = RowWork.of(mapped, self._statistics, self.fit_intercept, system, self._basis)
        return self._work

    def _store(self, used, coefficients, explained_squares):
        intercept = np.zeros(coefficients.shape[1])
        if self.fit_intercept:
            intercept = used.target_mean - used.feature_mean @ coefficients
        noise = np.maximum(np.diag(used.target_gram) - explained_squares, 0.0) / used.weight
        if self._one_dimensional:
            self.coef_, self.intercept_, self.noise_variance_ = coefficients[:, 0], float(intercept[0]), float(noise[0])
        else:
            self.coef_, self.intercept_, self.noise_variance_ = coefficients.T, intercept, noise

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

"""SpectralRidge: ridge regression on the features of a measure, by sums over rows."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..._checks import check_transformer
from ...features.spectral import SpectralFeatures
from ...measures.fourier import FourierMeasure
from ...operators import Decomposable
from ...solvers import Solver
from .model import RidgeModel


@dataclass(eq=False, repr=False)
class SpectralRidge(RidgeModel):
    """Ridge regression on spectral features: minimizes Σ_i ‖Φ(x_i) w + b − y_i‖² + α ‖w‖².

    The n x 2D feature matrix is never held: the normal equations are summed over blocks of rows.

    Parameters
    ----------
    features : SpectralFeatures or any transformer, default ``SpectralFeatures(n_components=500)``
        With a learner inside, the ridge runs on the learned measure.
    alpha : "auto", float or list of floats, default "auto"
        The ridge, as in scikit-learn's ``Ridge``. From a list the one with the smallest exact
        leave-one-out error is taken; all of them cost one factorization and one more pass over the
        rows. "auto" is a list of 25, from 1e-6 to 100 times the mean squared norm of the features.
        Leave-one-out cannot see what a learner took from y: with learned features it is optimistic.
        After ``partial_fit`` the choice is by generalized cross-validation.
    solver : Eigen, Cholesky, ConjugateGradient, LBFGS or StochasticGradient, default None
        None takes Cholesky factors for one ridge, eigenvectors for several or for few rows. All but
        ``Eigen`` leave the choice between several ridges to 1000 rows, evenly spread over all.
    fit_intercept : bool, default True
        Whether there is a free constant b.
    random_state : None, int, RandomState or Generator, default None
        When given, it replaces that of ``features``.

    Attributes
    ----------
    coef_ : (n_outputs, n_columns), or (n_columns,) for one-dimensional y
    intercept_ : (n_outputs,) or a number
    features_ : the fitted transformer; ``measure_`` is its measure
    expansion_ : the fitted function, for features on a FourierMeasure
    alpha_, solver_, n_iter_ : the ridge and solver in use, and the solver's steps
    alphas_ : several ridges that were tried; where ``alpha_`` is the first or the last, a better
        one may lie beyond
    loo_errors_, gcv_errors_ : mean squared leave-one-out error of each; after ``partial_fit`` that
        of generalized cross-validation
    noise_variance_ : the most likely variance of the noise, for each output

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SpectralRidge(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    _defaults: ClassVar = {"features": SpectralFeatures(n_components=500)}

    features: Any = None
    _: KW_ONLY
    alpha: Any = "auto"
    solver: Solver | None = None
    fit_intercept: bool = True
    random_state: Any = None

    def _check_parameters(self):
        check_transformer(self._component("features"), "features")
        return super()._check_parameters()

    def _start(self, rows, target, taught, weights):
        self.features_ = self._fitted_features(self._component("features"), rows, taught, weights)
        self._kernel = Decomposable()
        measure = self.features_.measure_ if isinstance(self.features_, SpectralFeatures) else None
        # A measure's own block needs no second check of its rows.
        self._source = measure if isinstance(measure, FourierMeasure) else self.features_
        if self._source is measure:
            return measure.n_columns
        return self._source.transform(rows.take(np.array([0]))).shape[1] if rows.is_local else 0

    @property
    def noise_variance_(self) -> Any:
        """The most likely variance of the noise, for each output."""
        noise = np.maximum(self._solution.unexplained, 0.0) / self._statistics.weight
        return float(noise[0]) if self._one_dimensional else noise

    @property
    def measure_(self) -> Any:
        """The measure of the features."""
        return self.features_.measure_

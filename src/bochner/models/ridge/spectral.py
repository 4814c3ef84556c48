"""SpectralRidge: ridge regression on the features of a measure, by sums over rows."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from ...features.spectral import SpectralFeatures, checked_features, fitted_transformer
from ...measures.fourier import FourierMeasure
from ...operators import Decomposable
from ...solvers import Solver
from .model import RidgeModel


def feature_source(features: Any) -> Any:
    """Return the FourierMeasure of fitted features, or the features themselves.

    The block of a measure does not validate its rows a second time.
    """
    measure = features.measure_ if isinstance(features, SpectralFeatures) else None
    return measure if isinstance(measure, FourierMeasure) else features


@dataclass(eq=False, repr=False)
class SpectralRidge(RidgeModel):
    """Ridge regression on spectral features: minimizes Σ_i ‖Φ(x_i) w + b − y_i‖² + α ‖w‖².

    The n x 2D feature matrix is never stored: the normal equations are summed over blocks of rows.

    Parameters
    ----------
    features : SpectralFeatures or any transformer, default ``SpectralFeatures(n_components=500)``
        If they have a learner, the ridge is fitted on the learned measure. A FourierMeasure in
        their place means the features of all of its atoms.
    alpha : "auto", float or list of floats, default "auto"
        The ridge, as in scikit-learn's ``Ridge``. From a list, the value with the smallest exact
        leave-one-out error is chosen. A list of any length needs one factorization and one more
        pass over the rows. "auto" is a list of 25, from 1e-6 to 100 times the mean squared norm of
        the features. With learned features the leave-one-out error is too small, because the
        learner has used y of all rows. After ``partial_fit`` the ridge is chosen by generalized
        cross-validation.
    solver : Eigen, Cholesky, ConjugateGradient, LBFGS or StochasticGradient, default None
        None uses Cholesky factors for one ridge, and eigenvectors for several or for few rows. All
        solvers but ``Eigen`` choose between several ridges on 1000 evenly spread rows.
    fit_intercept : bool, default True
        Add an unpenalized constant b.
    random_state : None, int, RandomState or Generator, default None
        If given, it replaces that of ``features``.

    Attributes
    ----------
    coef_ : (n_outputs, n_columns), or (n_columns,) for one-dimensional y
    intercept_ : (n_outputs,) or a number
    features_ : the fitted transformer; ``measure_`` is its measure
    expansion_ : the fitted function, for features on a FourierMeasure
    alpha_, solver_, n_iter_ : the ridge and solver in use, and the steps of the solver
    alphas_ : the ridges that were compared; if ``alpha_`` is the first or the last of them, a
        better one may lie outside
    loo_errors_, gcv_errors_ : mean squared leave-one-out error of each ridge; after ``partial_fit``
        the error of generalized cross-validation
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

    def _check_features(self):
        checked_features(self)

    def _start(self, data, learning_target):
        features, rows = clone(checked_features(self)), data.rows
        if self.random_state is not None:
            features.set_params(random_state=self.random_state)
        if isinstance(features, SpectralFeatures):
            features.fit(rows, learning_target, data.weights)
        else:
            y = learning_target.as_given(learning_target.rows)
            features = fitted_transformer(features, rows.source, y, data.weights)
        self.features_, self._kernel = features, Decomposable()
        self._source = feature_source(features)

    @property
    def noise_variance_(self) -> Any:
        """Most likely variance of the noise, for each output."""
        noise = np.maximum(self._solution.unexplained, 0.0) / self._statistics.weight
        return float(noise[0]) if self._one_dimensional else noise

    @property
    def measure_(self) -> Any:
        """Measure of the features."""
        return self.features_.measure_

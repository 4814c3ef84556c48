"""Methods of the tabular models that explain predictions; ``SpectralModel`` binds them.

They are functions of a fitted model, so that this file reads without the code that fits it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count
from ..expansions.dependence import GroupValues
from .bands import check_level, effect_bands
from .directions import refuse_monotone
from .effects import TableEffects, check_pairs, require_bands, table_effects
from .imputation import count_marks
from .novelty import novelty_shares
from .replacing import column_groups
from .shapley import ShapleyValues, blend_shapley

if TYPE_CHECKING:
    from .base import SpectralModel


def novelty(model: SpectralModel, X: Any) -> Any:
    """Return how far each row lies outside the training rows, from 0 to 1.

    A value of 0.99 means that the row is farther from the training rows than 99 % of these are
    from each other. For new rows of the same kind, 0.5 is typical, and 5 % have more than 0.95.

    The distance is −log of the learned kernel to the nearest of at most 2000 training rows, which
    were drawn at random. So columns without influence on the target hardly count. A level that no
    training row had differs from all others. Cells do not count if they are missing in columns
    that were complete in training. Give new rows: the drawn rows have a novelty near zero.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Rows, as in ``fit``.

    Returns
    -------
    array of shape (n_samples,)
        The share of training rows, each left out once, that are at most as far away.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SpectralRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.novelty([[0.0, 0.1], [5.0, -5.0]]) > 0.95
    array([False,  True])
    """
    check_is_fitted(model)
    return model._map_marks(X, partial(novelty_shares, model._neighbors))


def imputed_cells(model: SpectralModel, X: Any) -> Any:
    """Return the number of cells in each row over whose values predictions are averaged.

    These are cells that are missing in columns that were complete in training, and levels that no
    training row had. The prediction is then the mean over 16 similar training rows, each of which
    supplies all these cells at once. They are the nearest ones by the learned kernel of all other
    columns, among at most 2000 rows that were drawn at random.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Rows, as in ``fit``.

    Returns
    -------
    array of int of shape (n_samples,)
    """
    return model._map_marks(X, count_marks).astype(int)


def effects(
    model: SpectralModel,
    X: Any,
    max_order: int = 2,
    *,
    level: float | None = None,
    output: str = "auto",
    pairs: Any = None,
) -> TableEffects:
    """Split predictions into effects of columns, of pairs of columns, and the rest.

    Effects are centered partial dependence of the whole model over up to 256 evenly spread
    training rows, see ``TableEffects``. The parts add up to the prediction.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Rows in memory.
    max_order : {1, 2}, default=2
        With 1, effects of pairs are part of the rest. Main effects do not depend on it.
    level : float, default None
        Probability of pointwise confidence bands, e.g. 0.9. Bands need a linear scale, one
        leaf, and kernel members alone. Time grows with n² for each value or pair of values.
    output : str, default "auto"
        The explained quantity. For a regressor "prediction" (the default) or "scale", the scale
        of ``target_scale_``, on which members are added. For a classifier "log-odds" (the
        default, see ``decision_function``) or "probability".
    pairs : list of (str, str), default None
        The pairs of columns to compute; None is all of them.

    Returns
    -------
    TableEffects
        Without an axis of outputs for one-dimensional y of a regressor, and for two classes,
        where log-odds and probability are those of ``classes_[1]``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> model = SpectralRegressor(random_state=0).fit(X, X[:, 0] + 2 * X[:, 1])
    >>> effects = model.effects(X)
    >>> bool(np.allclose(effects.total(), model.predict(X)))
    True
    >>> effects.strongest(1)[0][0]
    'x1'
    """
    refuse_monotone(model, "Effects")
    table, inputs = model._table_in_memory(X), model.inputs_
    quantity, chosen = model._quantity(output), check_pairs(pairs, max_order, inputs)
    linear = None
    if level is not None:
        check_level(level)
        linear = require_bands(quantity)
    Z = table.transform(inputs).astype(np.float64, copy=False)
    own = GroupValues.of(Z, column_groups(inputs)[1])
    split = table_effects(quantity, inputs, model._background, own, chosen)
    if linear is not None and level is not None:
        bands = effect_bands(
            linear.blend, linear.systems, model._background, own, chosen, linear.unit, level
        )
        split = replace(split, bands=bands)
    return split if split.output_names else split.first_output()


def shapley(model: SpectralModel, X: Any, *, background: int | None = None) -> ShapleyValues:
    """Split the output of each row exactly into Shapley values of the columns.

    The value of a column is the change of the output when its cell replaces that of a background
    row. It is the mean over all orders of replacing the columns, and over all background rows. It
    is the integral of a polynomial, and is computed without sampling, up to rounding errors.

    A regressor explains its predictions. If ``target_scale_`` is logarithmic, these are on its
    scale, log(y + shift) or asinh((y − shift) / width). A classifier explains ``scores``.
    Probabilities are not sums of products over columns, so exact values would need 2^n_columns
    evaluations. Nor are some members: trees, waves of a classifier, and own priors without
    ``has_column_factors``. Their contribution is ``rest``.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Rows in memory.
    background : int, default None
        Largest number of background rows; None is 64. Time is proportional to it. The rows are
        evenly spread over at most 256 training rows, which are evenly spread themselves. With
        several leaves, the background of a row are those in its leaf or, if these are fewer
        than 16, training rows of the leaf.

    Returns
    -------
    ShapleyValues
        Without an axis of outputs for one-dimensional y of a regressor, and for two classes,
        where the score of the second class is explained.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import SpectralRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SpectralRegressor(random_state=0).fit(X, 3 * X[:, 0])
    >>> model.shapley(X[:5])
    ShapleyValues(5 rows, 2 columns, prediction, rest 0%)
    """
    if background is not None:
        check_count(background, "background")
    refuse_monotone(model, "Shapley values")
    table, inputs = model._table_in_memory(X), model.inputs_
    values, base, rest = blend_shapley(
        model.blend_, inputs, table.transform(inputs), model._background, background
    )
    unit, center, has_one_output = model._scores_scale()
    values, base, rest = unit * values, center + unit * base, unit * rest
    if has_one_output:
        values, base, rest = values[..., 0], base[..., 0], rest[..., 0]
    return ShapleyValues(
        values, base, table.source, tuple(inputs.names_), rest, *model._explained()
    )


def input_gradient(model: SpectralModel, X: Any) -> np.ndarray:
    """Return the derivatives of ``predict_proba`` or ``predict`` in the columns of the table.

    They are per unit of a column: per day for dates, and booleans count as zero and one.
    Laplace kernels and ranks have a kink at every training value: the result at a kink is the mean
    of both one-sided derivatives. The derivative is NaN for categories and missing numbers, and
    zero for columns that were constant in training.

    Parameters
    ----------
    X : table of shape (n_samples, n_columns)
        Rows in memory.

    Returns
    -------
    array of shape (n_samples, n_outputs, n_columns)
        For one-dimensional y of a regressor (n_samples, n_columns).
    """
    refuse_monotone(model, "Derivatives")
    table = model._table_in_memory(X)
    Z, numbers = table.transform(model.inputs_), model.inputs_.numbers_
    # If kernels and ranks have a kink at the same place, the mean of products is not the
    # product of means: the chain rule holds from each side.
    sides = (-1, 1) if model.inputs_.ranks > 0 else (0,)
    gradient: Any = 0.0
    for side in sides:
        of_prepared = model._slopes(Z, side)
        one_sided = np.zeros((*of_prepared.shape[:2], model.n_features_in_))
        one_sided[:, :, numbers] = of_prepared[:, :, : len(numbers)]
        of_inputs = model.inputs_.slopes(table.source, side)
        gradient = gradient + one_sided * of_inputs[:, None] / len(sides)
    return model._as_given(gradient)

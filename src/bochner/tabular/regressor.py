"""SpectralRegressor: values from a table, without tuning."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._estimator import score_in_memory
from ..data.targets import Values
from ..expansions.replacements import replacements
from .bands import KernelSystem, check_level
from .base import ATTRIBUTES, PARAMETERS, SpectralModel, limit_threads
from .blending import Blend, blend_weights, used_members
from .effects import LinearQuantity, LinkedQuantity
from .imputation import by_donor, deviation_over_donors
from .monotone import blend_at, member_at
from .replacing import BlendReplacements
from .scales import Spread, choose_scale, mean_values, values_around


class SpectralRegressor(MultiOutputMixin, RegressorMixin, SpectralModel):
    __doc__ = f"""Regressor for tables: a blend of exact kernel machines with learned kernels.

    It works as ``SpectralClassifier``, for one or several outputs, with priors learned on up to
    1000 rows each.

    A single output with a long tail may be fitted on a logarithmic scale (``target_scale_``). Two
    conditions must hold for the learning rows: the evidence, including the change of density, is
    larger by 0.1 nats per row, and leave-one-out predictions of the mean are not worse. Predictions
    are then means over the held-out residuals, not medians.

    Parameters
    ----------{PARAMETERS}

    Attributes
    ----------
    blend_ : Blend
        The fitted function on the scale of ``target_scale_``: ``KernelExpansion`` and, for many
        rows, ``WaveMember``.
    target_scale_ : TargetScale
        The scale of the target.
    spread_ : Spread
        Held-out residuals and their size.{ATTRIBUTES}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SpectralRegressor(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.4)
    True
    """

    _ridge_steps = 4
    _prepared_parts = "columns and target"

    def _read_target(self, y, n_rows, kept, weights):
        return Values.of(y, n_rows, owner=type(self).__name__).take(kept)

    def _choose_scale(self, data, prepared, rows, learn):
        self._one_dimensional = data.target.one_dimensional
        present = data.target.rows[data.weights > 0]
        ends = float(np.min(present)), float(np.max(present))
        self.target_scale_, learned = choose_scale(prepared, rows, ends, learn, self._ridge_steps)
        return learned

    def _scaled(self, target):
        return Values(self.target_scale_.forward(target.rows))

    def _blend(self, members, held_out, evaluation, rng):
        weights = used_members(blend_weights(held_out, evaluation.outputs, evaluation.row_weights))
        used = np.flatnonzero(weights)
        blend = Blend(
            tuple(members[k].solved.expansion for k in used), tuple(weights[used].tolist())
        )
        kernels = [k for k, one in enumerate(members) if one.learned is not None]
        self.spread_ = Spread.of(
            evaluation.Z,
            evaluation.outputs - np.tensordot(weights, held_out, axes=1),
            evaluation.row_counts,
            members[max(kernels, key=lambda k: weights[k])].learned,
            rng,
        )
        return blend, weights

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² on X and y, which may also be Dask collections."""
        return score_in_memory(super().score, X, y, sample_weight)

    @limit_threads
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the mean of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.
        return_std : bool, default False
            If True, also return the standard deviation of an observation. It is that of held-out
            residuals, times a size that depends on the row if that describes them better. The
            deviation over the values of cells that were integrated out is included, see
            ``imputed_cells``.

        Returns
        -------
        mean : array of shape (n_samples,) or (n_samples, n_outputs)
        std : array of the same shape
            Only with ``return_std``.
        """
        check_is_fitted(self)
        n_outputs = len(self.target_scale_.center)
        if not return_std:
            return self._as_given(self._map_rows(X, self._means, n_outputs))
        both = self._map_rows(
            X,
            lambda Z: np.hstack([self._means(Z), self._deviations(Z)]),
            2 * n_outputs,
            self._moments_of_completed,
        )
        return self._as_given(both[:, :n_outputs]), self._as_given(both[:, n_outputs:])

    @limit_threads
    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Predict bounds that contain a new observation with probability ``level``.

        The bounds are the prediction ± the ⌈(n + 1) level⌉-th smallest of the n held-out residuals.
        If errors vary by row, residuals are first divided by their predicted size. This is the
        jackknife up to 3500 rows, and split-conformal prediction with a refit above.

        Coverage is an average over new rows of the same kind, not a property of each row. With a
        hundred training rows or more it is within a few percent of ``level``. With too few rows for
        a level, the bounds are infinite. Rows far from all training rows are covered less often:
        see ``novelty``.

        Some rows lack values in columns that were complete in training, or have levels that no
        training row had. Their prediction is a mean over 16 similar training rows, see
        ``imputed_cells``. The deviation over these widens the bounds, and a warning names the
        columns.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns)
            Rows, as in ``fit``.
        level : float, default=0.9
            The probability, between 0 and 1.

        Returns
        -------
        array of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            The lower and the upper bounds.
        """
        check_level(level)
        check_is_fitted(self)
        n_outputs = len(self.target_scale_.center)
        ends = self._map_rows(
            X,
            lambda Z: self._ends(Z, level).reshape(len(Z), -1),
            2 * n_outputs,
            partial(self._ends_of_completed, level),
        )
        return self._as_given(ends.reshape(ends.shape[0], n_outputs, 2))

    def _means(self, Z):
        return self._rearranged(
            Z, lambda center, sizes: mean_values(self.target_scale_, center, self.spread_, sizes)
        )

    def _deviations(self, Z):
        sizes = self.spread_.sizes(Z)
        if self.target_scale_.kind == "identity":
            return self.target_scale_.unit * sizes * self.spread_.root_mean_square()
        around = values_around(self.target_scale_, self.blend_.evaluate(Z), self.spread_, sizes)
        return around.std(axis=0)

    def _ends(self, Z, level):
        """Return the bounds, (n_samples, n_outputs, 2)."""
        reach = self.spread_.reach(level)
        return self._rearranged(Z, lambda center, sizes: self._bounds(center, sizes * reach))

    def _bounds(self, center, reach):
        """Return center ± reach in units of y, (n_samples, n_outputs, 2)."""
        with np.errstate(over="ignore"):
            return np.stack(
                [self.target_scale_.backward(center + side * reach) for side in (-1, 1)], axis=-1
            )

    def _rearranged(self, Z, function):
        """Return ``function(scores, sizes of residuals)`` at rows Z, rearranged if necessary."""
        if self._rearrangement is None:
            return function(self.blend_.evaluate(Z), self.spread_.sizes(Z))
        spread, blend = self.spread_, self.blend_
        if spread.log_size is None:  # the result rises with the scores, which are sorted instead
            scores_at = partial(blend_at, blend)
            center = self._rearrangement.apply(Z, blend.evaluate, scores_at, blend)
            return function(center, spread.sizes(Z))

        def replaced(Z, columns, values):
            center = blend_at(blend, Z, columns, values)
            sizes = np.exp(member_at(spread.log_size, Z, columns, values))
            result = function(center.reshape(-1, 1), sizes.reshape(-1, 1))
            return result.reshape(*center.shape[:2], *result.shape[1:])

        n_bytes = 64 if self.target_scale_.kind == "identity" else 24 * len(spread.quantiles())
        return self._rearrangement.apply(
            Z, lambda Z: function(blend.evaluate(Z), spread.sizes(Z)), replaced, blend, n_bytes
        )

    def _moments_of_completed(self, rows):
        """Return ``predict`` with ``return_std`` from rows completed by each donor."""
        means, deviations = by_donor(self._means, rows), by_donor(self._deviations, rows)
        deviation = np.sqrt(np.mean(deviations**2, axis=0) + deviation_over_donors(means) ** 2)
        return np.hstack([means.mean(axis=0), deviation])

    def _ends_of_completed(self, level, rows):
        """Return ``_ends`` from rows completed by each donor, with their spread.

        The half-width is √(reach² + (z s)²) on the scale of the fit. Here s is the deviation of the
        predictions over donors, and z the normal quantile of ``level``. Monotone bounds are
        quantiles of the bounds of all donors, which are monotone, too.
        """
        if self._rearrangement is not None:
            ends = by_donor(lambda Z: self._ends(Z, level).reshape(len(Z), 2), rows)
            tail = (1 - level) / 2
            lower = np.quantile(ends[:, :, 0], tail, axis=0, method="lower")
            upper = np.quantile(ends[:, :, 1], 1 - tail, axis=0, method="higher")
            return np.column_stack([lower, upper])
        center, sizes = by_donor(self.blend_.evaluate, rows), by_donor(self.spread_.sizes, rows)
        reach = sizes.mean(axis=0) * self.spread_.reach(level)
        spread = norm.ppf((1 + level) / 2) * deviation_over_donors(center)
        ends = self._bounds(center.mean(axis=0), np.hypot(reach, spread))
        return ends.reshape(len(ends), -1)

    def _scores_scale(self):
        return self.target_scale_.unit, self.target_scale_.center, self._one_dimensional

    def _quantity(self, output):
        if output not in ("auto", "prediction", "scale"):
            raise ValueError(
                f'output must be "prediction" or "scale" for a regressor, got {output!r}.'
            )
        scale, spread = self.target_scale_, self.spread_
        names = () if self._one_dimensional else tuple(range(len(scale.center)))
        if scale.kind == "identity" or output == "scale":
            return LinearQuantity(
                scale.name, names, self.blend_, scale.unit, scale.center, self._systems
            )

        def replaced(Z, groups):
            both, sizes = BlendReplacements(self.blend_, Z, groups), None
            if spread.log_size is not None:
                sizes = replacements(spread.log_size, Z, groups)

            def means(chosen, values):
                scores = both.scores(chosen, values)
                shape = scores.shape
                logs = np.zeros(shape) if sizes is None else sizes.scores(chosen, values)
                flat = np.exp(logs).reshape(-1, shape[2])
                return mean_values(scale, scores.reshape(flat.shape), spread, flat).reshape(shape)

            return means

        return LinkedQuantity("prediction", names, self._means, replaced, self.blend_)

    def _kernel_systems(self, members, weights, leaves):
        used = [one for one, weight in zip(members, weights) if weight > 0]
        if leaves.tree is not None or any(one.learned is None for one in used):
            return ()
        if not all(one.learned.prior.has_column_factors for one in used):
            return ()
        row_weights = leaves.data.row_weights
        return tuple(
            KernelSystem(one.learned.linear, one.solved.ridge, row_weights) for one in used
        )

    def _explained(self):
        names = map(str, range(len(self.target_scale_.center)))
        return self.target_scale_.name, () if self._one_dimensional else tuple(names)

    def _slopes(self, Z, side):
        """Return ∂ means / ∂ prepared columns, (n_samples, n_outputs, n_columns)."""
        slopes, scale, spread = self.blend_.jacobian(Z, side), self.target_scale_, self.spread_
        if scale.kind == "identity":
            return scale.unit[:, None] * slopes
        quantiles, sizes = spread.quantiles()[:, None], spread.sizes(Z)
        rises = scale.slope_within(self.blend_.evaluate(Z) + sizes * quantiles)
        slopes = rises.mean(axis=0)[:, :, None] * slopes
        if spread.log_size is not None:
            slopes += (rises * sizes * quantiles).mean(axis=0)[
                :, :, None
            ] * spread.log_size.jacobian(Z, side)
        return slopes

    def _as_given(self, outputs):
        return outputs[:, 0] if self._one_dimensional else outputs

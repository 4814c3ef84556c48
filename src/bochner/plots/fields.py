"""Vector fields in the plane: data, learned field, divergence and curl."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._checks import check_choice, check_count
from ..models.ridge import OperatorKernelRidge, OperatorRidge
from ._canvas import blank, last_step, like_given


@dataclass
class VectorFieldDisplay:
    """Data as arrows, and the learned vector field as streamlines over its divergence or curl.

    ``from_estimator`` creates it.

    Parameters
    ----------
    grid : array (n_grid, n_grid, 2)
        Points of the plane.
    field : array (n_grid, n_grid, 2)
        The predicted vectors at these points.
    color : array (n_grid, n_grid) or None
        The quantity in the background, such as the divergence.
    background : str or None
        The name of this quantity.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import CurlFree, Gaussian, OperatorRidge
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> model = OperatorRidge(CurlFree(Gaussian(gamma=1.0)), random_state=0).fit(X, -X)
    >>> display = VectorFieldDisplay.from_estimator(model, X, -X, background="divergence")
    >>> [axis.get_title() for axis in display.axes_]
    ['data', 'learned field']
    """

    grid: np.ndarray
    field: np.ndarray
    color: np.ndarray | None
    background: str | None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: np.ndarray,
        y: np.ndarray,
        *,
        background: str | None = "divergence",
        n_grid: int = 40,
        at: np.ndarray | None = None,
        axes: Any = None,
    ) -> Self:
        """Evaluate a fitted ridge with two outputs on a grid over the data and draw it.

        The estimator is an ``OperatorRidge`` or ``OperatorKernelRidge``, or a pipeline that ends
        with one. ``background`` is "divergence", "curl", "speed", "scalar_potential" or None. For
        all models but an ``OperatorRidge`` by itself, derivatives are finite differences.

        For a field that depends on time, ``at`` is one row of inputs. Its coordinates in space are
        replaced by those of the grid.
        """
        name = "VectorFieldDisplay.from_estimator"
        part = last_step(estimator, name, OperatorRidge, OperatorKernelRidge)
        choices = ("divergence", "curl", "speed", "scalar_potential", "none")
        check_choice(background or "none", "background", choices)
        n_grid = check_count(n_grid, "n_grid", minimum=2)
        given, X, y = X, np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        space = part.kernel_.space(X.shape[1])
        if len(space) != 2 or y.ndim != 2 or y.shape[1] != 2:
            raise ValueError(
                f"A field in the plane has 2 directions and 2 outputs, got {len(space)} and y of "
                f"shape {y.shape}. For other fields, plot the result of estimator.predict."
            )
        sides = [np.linspace(X[:, column].min(), X[:, column].max(), n_grid) for column in space]
        grid = np.stack(np.meshgrid(*sides), axis=-1)
        row = np.zeros(X.shape[1]) if at is None else np.asarray(at, dtype=np.float64)
        rows = np.tile(row, (n_grid**2, 1))
        rows[:, space] = grid.reshape(-1, 2)

        def predict(points):
            return estimator.predict(like_given(given, points))

        field, color = predict(rows), None
        if background == "speed":
            color = np.linalg.norm(field, axis=1)
        elif background is not None and isinstance(estimator, OperatorRidge):
            color = getattr(estimator, background)(rows)
        elif background == "scalar_potential":
            raise TypeError(
                "A scalar potential needs an OperatorRidge by itself, got "
                f"{type(estimator).__name__}. Write background='speed'."
            )
        elif background is not None:
            color = _by_differences(predict, rows, space, background)
        color = None if color is None else color.reshape(n_grid, n_grid)
        display = cls(grid, field.reshape(n_grid, n_grid, 2), color, background)
        return display.plot(X[:, space], y, axes=axes)

    def plot(
        self, X: np.ndarray, y: np.ndarray, *, axes: Any = None, max_arrows: int = 300
    ) -> Self:
        """Plot arrows of at most ``max_arrows`` data points, and streamlines of the field."""
        if axes is None:
            axes = blank(1, 2, size=(10.5, 4.6), sharex=True, sharey=True)[1]
        self.axes_ = list(axes)
        self.figure_ = self.axes_[0].figure
        shown = np.linspace(0, len(X) - 1, min(max_arrows, len(X))).astype(int)
        left, right = self.axes_
        speeds = np.linalg.norm(y[shown], axis=1)
        colors = {"cmap": "viridis", "clim": (0, 1.2 * speeds.max())}
        left.quiver(*X[shown].T, *y[shown].T, speeds, angles="xy", width=0.004, **colors)
        left.set_title("data")
        if self.color is not None:
            # Signed quantities are centered at zero, which is white.
            signed = self.background != "speed"
            # Not to the ends of the colors, on which black lines could not be seen.
            limit = 1.4 * max(float(np.abs(self.color).max()), 1e-12)
            style = {"cmap": "RdBu_r" if signed else "viridis", "vmin": -limit if signed else 0.0}
            sides = np.moveaxis(self.grid, -1, 0)
            image = right.pcolormesh(*sides, self.color, vmax=limit, shading="gouraud", **style)
            self.figure_.colorbar(image, ax=right, label=str(self.background).replace("_", " "))
        lines = {"color": "black", "linewidth": 0.7, "arrowsize": 0.8, "density": 1.2}
        field = np.moveaxis(self.field, -1, 0)
        across, up = self.grid[0, :, 0], self.grid[:, 0, 1]
        self.streamlines_ = right.streamplot(across, up, *field, **lines)
        right.set_title("learned field")
        for axis in self.axes_:
            axis.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
            axis.set(xlim=self.grid[0, [0, -1], 0], ylim=self.grid[[0, -1], 0, 1])
        return self


def _by_differences(predict, rows, space, background):
    """Return divergence or curl of predictions in the plane, by finite differences.

    The step is a thousandth of the width of the plane.
    """
    slopes = np.empty((2, 2, len(rows)))  # of each output along each direction
    for b, column in enumerate(space):
        step = np.zeros(rows.shape[1])
        step[column] = 1e-3 * np.ptp(rows[:, column])
        slopes[:, b] = (predict(rows + step) - predict(rows - step)).T / (2 * step[column])
    if background == "divergence":
        return slopes[0, 0] + slopes[1, 1]
    return slopes[1, 0] - slopes[0, 1]

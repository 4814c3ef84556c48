"""The divergence-free kernel."""

from .vector_field import VectorFieldKernel


class DivergenceFree(VectorFieldKernel):
    """K = (∇∇ᵀ − Δ I) k: every function it spans has divergence zero.

    An example is the flow of an incompressible fluid. A(ω) = ‖ω‖² I − ωωᵀ (an equation of the
    paper's Example 3 has (I − ωωᵀ) ‖ω‖², which is not positive). For the Gaussian kernel k of
    length σ in d dimensions, K(δ) = (δδᵀ/σ⁴ + ((d−1)/σ² − ‖δ‖²/σ⁴) I) k(δ).

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k.
    coordinates : list of int, default None
        The columns that are coordinates of space, unlike others such as time; None is all.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> DivergenceFree(Gaussian(gamma=0.5)).kernel([[0.0, 0.0, 0.0]])[0, 0].diagonal()
    array([2., 2., 2.])
    """

    def share(self) -> float:
        """Return 0: rotations only."""
        return 0.0

"""The curl-free kernel."""

from .vector_field import VectorFieldKernel


class CurlFree(VectorFieldKernel):
    """K = −∇∇ᵀ k: every function it spans is the gradient of a potential.

    B(ω) = ω (Brault et al. 2016, Example 2). For the Gaussian kernel k of length σ,
    K(δ) = (I/σ² − δδᵀ/σ⁴) k(δ).

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k.
    coordinates : list of int, default None
        The columns that are coordinates of space, unlike others such as time; None is all.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> CurlFree(Gaussian(gamma=0.5)).kernel([[0.0, 0.0]])[0, 0].diagonal()
    array([1., 1.])
    """

    def share(self) -> float:
        """Return 1: gradients only."""
        return 1.0

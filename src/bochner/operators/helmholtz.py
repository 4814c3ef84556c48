"""The Helmholtz kernel."""

from dataclasses import dataclass
from numbers import Real

from .vector_field import VectorFieldKernel


@dataclass(eq=False, repr=False)
class Helmholtz(VectorFieldKernel):
    """Mixture of the curl-free and the divergence-free kernel: any smooth field.

    A function fitted with it splits into a gradient and a divergence-free rest (the Helmholtz
    decomposition), see ``OperatorRidge.curl_free_part``.

    Parameters
    ----------
    prior : a scalar prior or FourierMeasure, default ``Gaussian(gamma='scale')``
        The kernel k of both parts.
    curl_share : float, default 0.5
        Share of the curl-free part, from 0 to 1.
    coordinates : list of int, default None
        The columns that are coordinates of space, unlike others such as time; None is all.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> Helmholtz(Gaussian(gamma=0.5), curl_share=0.5).kernel([[0.0, 0.0]])[0, 0].diagonal()
    array([1., 1.])
    """

    curl_share: float = 0.5

    def share(self) -> float:
        """Return the share of the curl-free part after a check."""
        share = self.curl_share
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= share <= 1:
            raise ValueError(
                f"curl_share must be a number between 0 and 1, got {share!r}. Write e.g. "
                "curl_share=0.5."
            )
        return float(share)

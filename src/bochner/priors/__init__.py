"""Priors over frequencies, one Bochner pair per file."""

from .algebra import PriorProduct, PriorSum, ScaledPrior
from .anova import Anova
from .base import ProductPrior, RadialPrior, SpectralPrior
from .categories import WithCategories
from .cauchy import Cauchy
from .columns import OnColumns
from .gaussian import Gaussian
from .laplace import Laplace
from .matern import Matern
from .metric import WithMetric
from .mixture import SpectralMixture
from .periodic import Periodic
from .rational_quadratic import RationalQuadratic
from .sinc import Sinc

__all__ = [
    "Anova",
    "Cauchy",
    "Gaussian",
    "Laplace",
    "Matern",
    "OnColumns",
    "Periodic",
    "PriorProduct",
    "PriorSum",
    "ProductPrior",
    "RadialPrior",
    "RationalQuadratic",
    "ScaledPrior",
    "Sinc",
    "SpectralMixture",
    "SpectralPrior",
    "WithCategories",
    "WithMetric",
]

"""Priors over frequencies, one Bochner pair per file."""

from .anova import Anova
from .base import ProductPrior, RadialPrior, SpectralPrior
from .categories import WithCategories
from .cauchy import Cauchy
from .gaussian import Gaussian
from .laplace import Laplace
from .matern import Matern
from .metric import WithMetric
from .mixture import SpectralMixture
from .rational_quadratic import RationalQuadratic
from .sinc import Sinc

__all__ = [
    "Anova",
    "Cauchy",
    "Gaussian",
    "Laplace",
    "Matern",
    "ProductPrior",
    "RadialPrior",
    "RationalQuadratic",
    "Sinc",
    "SpectralMixture",
    "SpectralPrior",
    "WithCategories",
    "WithMetric",
]

"""Toy data of the papers' figures, as Bunches with ``data`` and ``target``.

``rng`` is a ``numpy.random.Generator`` or a seed.
"""

import numpy as np
from sklearn.utils import Bunch, gen_batches

from .._checks import Seed, as_generator, check_count, check_positive

# Centers and signs of the bumps of the plane potential: two hills and two dips.
_BUMPS = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])
_BUMP_SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
_BUMP_SHARPNESS = 25.0  # the potential is Σ ± exp(−sharpness/2 · ‖x − center‖²)


def swiss(n_samples: int = 1000, rng: Seed = None, *, noise: float = 0.4) -> Bunch:
    """Generate two rolled-up arms with n/2 points each, with noise.

    One arm is (t cos t, t sin t), labelled −1, the other is 0.9 times that, labelled +1. Gautheron
    et al. 2020, Figure 5; t = 1.5π(1 + 2u), u uniform.

    Parameters
    ----------
    n_samples : int, default 1000
        Points, n/2 of each class.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    noise : float, default 0.4
        Standard deviation of the noise.

    Examples
    --------
    >>> swiss(100, 0).data.shape
    (100, 2)
    """
    rng = as_generator(rng, "rng")
    n_arm = check_count(n_samples, "n_samples", minimum=2) // 2
    noise = check_positive(noise, "noise", allow_zero=True)
    arms = []
    for scale in (1.0, 0.9):
        t = 1.5 * np.pi * (1 + 2 * rng.random(n_arm))
        arm = scale * np.column_stack([t * np.cos(t), t * np.sin(t)])
        arms.append(arm + noise * rng.standard_normal((n_arm, 2)))
    return Bunch(data=np.concatenate(arms), target=np.repeat([-1, 1], n_arm))


def circles(n_samples: int = 1000, rng: Seed = None, *, noise: float = 0.07) -> Bunch:
    """Generate four rings of radius 1, 2, 3, 4 with n/4 points each at equal angles.

    Labels alternate from −1. Gautheron et al. 2020, Figure 5; the noise grows with the radius.

    Parameters
    ----------
    n_samples : int, default 1000
        Points, n/4 on each ring.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    noise : float, default 0.07
        Standard deviation of the noise, in units of the radius.

    Examples
    --------
    >>> int(circles(100, 0).target.sum())
    0
    """
    rng = as_generator(rng, "rng")
    n_ring = check_count(n_samples, "n_samples", minimum=4) // 4
    noise = check_positive(noise, "noise", allow_zero=True)
    angles = np.linspace(0, 2 * np.pi, n_ring, endpoint=False)
    unit = np.column_stack([np.cos(angles), np.sin(angles)])
    rings = [radius * (unit + noise * rng.standard_normal((n_ring, 2))) for radius in (1, 2, 3, 4)]
    return Bunch(data=np.concatenate(rings), target=np.repeat([-1, 1, -1, 1], n_ring))


def board(n_samples: int = 1000, rng: Seed = None) -> Bunch:
    """Generate uniform points on a 4 × 4 checkerboard (Gautheron et al. 2020, Figure 5).

    The label is −1 if ⌊x⌋ + ⌊y⌋ is even.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.

    Examples
    --------
    >>> board(100, 0).data.shape
    (100, 2)
    """
    rng = as_generator(rng, "rng")
    X = rng.uniform(0, 4, (check_count(n_samples, "n_samples"), 2))
    return Bunch(data=X, target=np.where(np.floor(X).sum(axis=1) % 2 == 0, -1, 1))


def windmill(
    n_samples: int = 2000, rng: Seed = None, *, arms: int = 3, twist: float = 0.0
) -> Bunch:
    """Generate uniform points of the unit disc, y = sign sin(arms · angle + twist · radius).

    For Bullins et al. 2018, Figure 1, whose generator is not published. With three straight arms
    an RBF kernel of the median distance has an accuracy of 89.5 % (printed: 92.1) and the margin
    game one of 98.3 to 99.0 % (printed: 99.3). Eight arms with twist 8 are limited by the sample
    size instead.

    Parameters
    ----------
    n_samples : int, default 2000
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    arms : int, default 3
        Arms of each class.
    twist : float, default 0.0
        What the radius 1 adds to arms · angle, in radians.

    Examples
    --------
    >>> windmill(100, 0, arms=5).data.shape
    (100, 2)
    """
    rng = as_generator(rng, "rng")
    n_samples, arms = check_count(n_samples, "n_samples"), check_count(arms, "arms")
    radius, angle = np.sqrt(rng.random(n_samples)), 2 * np.pi * rng.random(n_samples)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return Bunch(data=X, target=np.where(np.sin(arms * angle + twist * radius) > 0, 1, -1))


def sphere_checkerboard(n_samples: int = 2000, rng: Seed = None) -> Bunch:
    """Generate uniform points of the sphere in R³, y = sign(sin 4φ · sin 3θ).

    φ is the azimuth and θ the polar angle. For Bullins et al. 2018, Figure 1. The baseline of that
    figure is the arc-cosine kernel of degree 1, which has no odd degrees above one. It would be at
    chance for labels that are not even under x → −x.

    Parameters
    ----------
    n_samples : int, default 2000
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.

    Examples
    --------
    >>> sphere_checkerboard(100, 0).data.shape
    (100, 3)
    """
    rng = as_generator(rng, "rng")
    X = rng.standard_normal((check_count(n_samples, "n_samples"), 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    azimuth, polar = np.arctan2(X[:, 1], X[:, 0]), np.arccos(np.clip(X[:, 2], -1, 1))
    return Bunch(data=X, target=np.where(np.sin(4 * azimuth) * np.sin(3 * polar) > 0, 1, -1))


def curl_free_field(n_samples: int = 1000, rng: Seed = None, *, noise: float = 0.0) -> Bunch:
    """Generate the gradient of a plane potential with two hills and two dips; targets are (n, 2).

    Points are uniform in [−1, 1]². The potential is Σ ± exp(−25/2 · ‖x − c‖²) with c = (±½, 0) plus
    and (0, ±½) minus; its values are in ``potential``.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    noise : float, default 0.0
        Standard deviation of the noise on the targets.

    Examples
    --------
    >>> curl_free_field(100, 0).target.shape
    (100, 2)
    """
    return _plane_field(n_samples, rng, noise, rotate=False)


def divergence_free_field(n_samples: int = 1000, rng: Seed = None, *, noise: float = 0.0) -> Bunch:
    """Generate a flow without sources, (∂₂f, −∂₁f) for f of ``curl_free_field``.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    noise : float, default 0.0
        Standard deviation of the noise on the targets.

    Examples
    --------
    >>> divergence_free_field(100, 0).target.shape
    (100, 2)
    """
    return _plane_field(n_samples, rng, noise, rotate=True)


def _plane_field(n_samples, rng, noise, rotate):
    rng = as_generator(rng, "rng")
    noise = check_positive(noise, "noise", allow_zero=True)
    X = rng.uniform(-1, 1, (check_count(n_samples, "n_samples"), 2))
    potential, field = plane_potential(X)
    if rotate:
        field = np.column_stack([field[:, 1], -field[:, 0]])
    return Bunch(
        data=X, target=field + noise * rng.standard_normal(field.shape), potential=potential
    )


def plane_potential(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values (n,) and gradient (n, 2) of the potential of ``curl_free_field``.

    Parameters
    ----------
    X : array (n, 2)
        Points of the plane.

    Examples
    --------
    >>> plane_potential([[0.5, 0.0]])[0].round(2)
    array([1.])
    """
    differences = np.asarray(X, dtype=np.float64)[:, None, :] - _BUMPS
    bumps = _BUMP_SIGNS * np.exp(-_BUMP_SHARPNESS / 2 * np.sum(differences**2, axis=2))
    return bumps.sum(axis=1), -_BUMP_SHARPNESS * np.einsum("nb,nbk->nk", bumps, differences)


def gradient_field(
    n_samples: int = 1000,
    rng: Seed = None,
    *,
    n_features: int = 5,
    length_scale: float = 0.4,
    n_components: int = 1000,
    noise: float = 0.0,
    function: Seed = None,
) -> Bunch:
    """Generate the gradient of a random smooth function, curl-free; targets are (n, d).

    Points are uniform in [−1, 1]^d. Brault et al. 2016, Figure 3: f = φ̃ · θ with Gaussian random
    Fourier features and θ ~ N(0, I). Values of f are in ``potential``.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    n_features : int, default 5
        d, the dimension.
    length_scale : float, default 0.4
        Length of the Gaussian kernel that f is drawn with.
    n_components : int, default 1000
        Frequencies of f; the paper does not print their number.
    noise : float, default 0.0
        Standard deviation of the noise on the targets.
    function : Generator, int or None, default None
        Generator or seed of f; None uses ``rng``. Equal seeds give the same function, at the points
        of ``rng``.

    Examples
    --------
    >>> gradient_field(100, 0, n_features=3).target.shape
    (100, 3)
    """
    rng = as_generator(rng, "rng")
    function = rng if function is None else as_generator(function, "function")
    n_samples = check_count(n_samples, "n_samples")
    n_features = check_count(n_features, "n_features")
    n_components = check_count(n_components, "n_components")
    length_scale = check_positive(length_scale, "length_scale")
    noise = check_positive(noise, "noise", allow_zero=True)
    frequencies = function.standard_normal((n_components, n_features)) / length_scale
    cosine, sine = function.standard_normal((2, n_components)) / np.sqrt(n_components)
    X = rng.uniform(-1, 1, (n_samples, n_features))
    potential, field = np.empty(n_samples), np.empty_like(X)
    for rows in gen_batches(n_samples, 4096):  # to limit the memory of the phases
        cos, sin = (wave(X[rows] @ frequencies.T) for wave in (np.cos, np.sin))
        potential[rows] = cos @ cosine + sin @ sine
        field[rows] = (cos * sine - sin * cosine) @ frequencies
    if noise:
        field += noise * rng.standard_normal(field.shape)
    return Bunch(data=X, target=field, potential=potential)


def toy_landmarks(n_samples: int = 200, rng: Seed = None, *, noise: float = 0.35) -> Bunch:
    """Generate two classes of two noisy clusters each, placed crosswise.

    These are our replacement of the data of Letarte et al. 2019, Figure 1, which are not published.

    Parameters
    ----------
    n_samples : int, default 200
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    noise : float, default 0.35
        Standard deviation of each cluster.

    Examples
    --------
    >>> toy_landmarks(100, 0).data.shape
    (100, 2)
    """
    rng = as_generator(rng, "rng")
    n_samples = check_count(n_samples, "n_samples", minimum=4)
    centers = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    cluster = np.arange(n_samples) % 4
    noise = check_positive(noise, "noise", allow_zero=True)
    X = centers[cluster] + noise * rng.standard_normal((n_samples, 2))
    return Bunch(data=X, target=np.where(cluster < 2, -1, 1))


def toy_bands(
    n_samples: int = 200, rng: Seed = None, *, n_bands: int = 4, noise: float = 0.1
) -> Bunch:
    """Generate uniform points of a square in diagonal bands of alternating classes.

    Noise blurs the edges of the bands. This is our replacement of "another toy dataset" of Letarte
    et al. 2019, Figure 4, which is not published. A similarity that is the same in all directions
    cannot follow bands, but one that is learned from frequencies can.

    Parameters
    ----------
    n_samples : int, default 200
        Number of points.
    rng : Generator, int or None, default None
        Random number generator, or a seed.
    n_bands : int, default 4
        Bands of equal width between two opposite corners of [−1, 1]², each holding as many points
        as the others.
    noise : float, default 0.1
        Standard deviation of the noise on the points, in widths of a band.

    Examples
    --------
    >>> toy_bands(100, 0).data.shape
    (100, 2)
    """
    rng = as_generator(rng, "rng")
    n_samples, n_bands = (
        check_count(n_samples, "n_samples", minimum=4),
        check_count(n_bands, "n_bands", minimum=2),
    )
    noise = check_positive(noise, "noise", allow_zero=True)
    band = np.arange(n_samples) % n_bands
    width = 2 * np.sqrt(2) / n_bands
    across = (band + rng.random(n_samples)) * width - np.sqrt(2)
    along = (2 * rng.random(n_samples) - 1) * (np.sqrt(2) - np.abs(across))  # inside the square
    X = np.column_stack([across + along, across - along]) / np.sqrt(2)
    return Bunch(
        data=X + noise * width * rng.standard_normal(X.shape), target=np.where(band % 2 == 0, -1, 1)
    )

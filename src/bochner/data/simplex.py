"""The simplex code of classes."""

import numpy as np

from .._checks import check_count


def simplex_code(n_classes: int) -> np.ndarray:
    """Return the simplex code, (n_classes − 1, n_classes): column c is the code of class c.

    Columns have length one and inner products −1 / (n_classes − 1): classes are as far from each
    other as they can be (Mroueh et al. 2012). The recursion is C_L = [1, −1/p …; 0, √(1 − 1/p²)
    C_{L−1}] with p = L − 1; Brault et al. 2016 print −1/p², which does not give a simplex.

    Parameters
    ----------
    n_classes : int
        At least two.

    Examples
    --------
    >>> simplex_code(3).round(3)
    array([[ 1.   , -0.5  , -0.5  ],
           [ 0.   ,  0.866, -0.866]])
    """
    n_classes = check_count(n_classes, "n_classes", minimum=2)
    code = np.array([[1.0, -1.0]])
    for p in range(2, n_classes):
        smaller = code
        code = np.zeros((p, p + 1))
        code[0, 0] = 1
        code[0, 1:] = -1 / p
        code[1:, 1:] = np.sqrt(1 - 1 / p**2) * smaller
    return code

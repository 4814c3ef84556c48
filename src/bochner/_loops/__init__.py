"""Compiled loops, BLAS and threads: the only package that imports numba.

Each loop names the formula that it computes.
"""

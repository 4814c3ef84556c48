"""Rows on Dask: the only package that imports dask."""

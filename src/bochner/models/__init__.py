"""Estimators with one kernel or one feature map: ridge, logistic, operator-valued, exact and
certified models.
"""

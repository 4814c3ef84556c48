"""Estimators with one kernel or feature map: ridge, logistic, operator-valued and certified."""

"""Packages of ptttool with an interpreter of their own: ``make bundle``, ``make deb``, ``make rpm``."""

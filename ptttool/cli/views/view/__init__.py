"""The screen of ``ptttool view``."""

"""The screen of ``ptttool top``."""

"""Functions for programs and notebooks; the package ptttool offers them."""

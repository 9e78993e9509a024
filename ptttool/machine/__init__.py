"""The running machine: the only package with side effects on it."""

"""Requests and the completions that belong to them."""

"""Requests that are outstanding: sent, and not answered yet."""

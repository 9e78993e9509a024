"""Checks before a recording, one a file: what prevents a recording, and what to do about it.

A check is a function of the facts (:class:`~ptttool.capture.checks.host.Host`) and the plan that yields diagnostics. It registers itself
with :func:`~ptttool.capture.checks.contract.check`.
"""

"""Checks before a recording, one a file: what is in the way, and what to do about it.

A check is a function of the facts (:class:`~ptttool.capture.checks.host.Host`) and the plan that yields diagnostics. It registers itself
with :func:`~ptttool.capture.checks.contract.check`.
"""

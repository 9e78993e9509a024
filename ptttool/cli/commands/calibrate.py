"""``ptttool calibrate``: another name of ``ptttool selftest``."""

from __future__ import annotations

from ptttool.cli.app import app
from ptttool.cli.commands.selftest import selftest

app.command("calibrate", hidden=True)(selftest)

"""``ptttool tune``: work with the tune attributes of PTT devices."""

from ptttool.cli.commands.tune import attributes, export, history, profiles, recover, sweep

__all__ = ["attributes", "export", "history", "profiles", "recover", "sweep"]

"""``ptttool tune``: work with the tune attributes of PTT devices."""

from ptttool.cli.commands.tune import attributes, history, profiles, recover, sweep

__all__ = ["attributes", "history", "profiles", "recover", "sweep"]

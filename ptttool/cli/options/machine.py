"""The machine that ``--sysfs`` and ``--demo`` name, and its PTT devices."""

from ptttool.machine.discovery import open_source
from ptttool.machine.discovery import require_machine as load_machine
from ptttool.machine.resolve import find_device

__all__ = ["find_device", "load_machine", "open_source"]

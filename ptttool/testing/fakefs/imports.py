"""Import what would be imported later, while the file system is a fake one."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from contextlib import suppress

import ptttool

# Parts of libraries that ptttool imports when it needs them.
OTHERS = ("pyudev", "rich.table", "rich.tree", "rich.text", "rich.progress", "tomli_w")


@functools.cache
def import_all() -> None:
    """Import every module of ptttool that can be imported, once a process.

    pyfakefs removes modules that are imported during a test when the test ends: the next test would get other copies of the same
    classes, which are not equal to the first ones.
    """
    found = (module.name for module in pkgutil.walk_packages(ptttool.__path__, "ptttool.") if not module.name.endswith("__main__"))
    for name in (*found, *OTHERS):
        with suppress(ImportError):
            importlib.import_module(name)

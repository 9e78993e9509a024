"""Modules of the kernel as plain Python, beside the compiled ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import ptttool.kernel


def plain(name: str) -> ModuleType:
    """Return a module of ``ptttool.kernel`` that is not compiled."""
    spec = importlib.util.spec_from_file_location(f"tests.kernel.plain_{name}", Path(ptttool.kernel.__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

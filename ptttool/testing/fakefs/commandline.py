"""Let a typer command line, such as ptttool's own, take paths of a fake file system.

Its parameters are declared with the real ``pathlib.Path`` when its modules are imported; pyfakefs then puts another class of that name
into typer, which no longer sees that both are the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# In a tuple, where pyfakefs does not replace it.
REAL_PATH = (Path,)


def typer_patches() -> Iterator[tuple[object, str, Callable[..., Any]]]:
    """Yield what to replace in typer: module, name, function; nothing where typer is not loaded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "typer":
            continue
        if "lenient_issubclass" in vars(module):
            yield module, "lenient_issubclass", _knowing_paths(module.lenient_issubclass)
        if "_coerce_path_result" in vars(module):
            yield module, "_coerce_path_result", _fake_path


def _knowing_paths(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def lenient_issubclass(found: Any, wanted: Any) -> bool:
        return original(found, wanted) or (found is REAL_PATH[0] and wanted is Path)

    return lenient_issubclass


def _fake_path(value: Any, path_type: Any) -> Any:
    if path_type is bytes:
        return os.fsencode(value)
    return value if path_type is None or path_type is str else Path(value)

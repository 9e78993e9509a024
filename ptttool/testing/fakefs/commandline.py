"""Let a typer command line, such as ptttool's own, take paths of a fake file system.

Its parameters are declared with the real ``pathlib.Path`` when its modules are imported; pyfakefs then puts another class of that name
into typer, which no longer sees that both are the same.
"""

from __future__ import annotations

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
        if "get_click_type" in vars(module):
            yield module, "get_click_type", _of_fake_paths(module.get_click_type)


def _knowing_paths(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def lenient_issubclass(cls: Any, base: Any) -> bool:
        return original(cls, base) or (cls is REAL_PATH[0] and base is Path)

    return lenient_issubclass


def _of_fake_paths(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_click_type(*, annotation: Any, **options: Any) -> Any:
        return original(annotation=Path if annotation is REAL_PATH[0] else annotation, **options)

    return get_click_type

"""Things found by name: protocols, exporters; adding one is adding one file to a package."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Generic, TypeVar

from ptttool.errors import UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things of one kind.

    ``what``: the kind in words, for messages. ``package``: dotted name of the package whose modules register themselves when
    imported; they are imported at the first look.
    """

    def __init__(self, what: str, package: str | None = None) -> None:
        self.what = what
        self._package = package
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Register ``thing`` under ``name``; a name is given once."""
        if name in self._things:
            raise ValueError(f"{self.what} {name!r} is registered twice")
        self._things[name] = thing
        return thing

    def _load(self) -> None:
        if self._package is None:
            return
        package = importlib.import_module(self._package)
        self._package = None
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted(self._things)

    def __iter__(self) -> Iterator[T]:
        return (self._things[name] for name in self.names())

    def get(self, name: str) -> T:
        """The thing of that name; an unknown name is a usage error that lists the near misses."""
        self._load()
        try:
            return self._things[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._things, n=3)
            known = "did you mean " + " or ".join(near) if near else "known: " + ", ".join(sorted(self._things))
            raise UsageError(f"no {self.what} is called {name!r}", hint=known) from None

"""Things found by name: protocols, exporters; adding one is adding one file to a package."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import EntryPoint
from typing import Generic, TypeVar

from ptttool.errors import PlugInError, UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things of one kind.

    ``what``: the kind in words, for messages. ``package``: dotted name of the package whose modules register themselves when
    imported; they are imported at the first look. ``entry_points``: a group of entry points of other installed packages: each is named
    as the thing that its module registers, and imported when that is asked for.
    """

    def __init__(self, what: str, package: str | None = None, entry_points: str | None = None) -> None:
        self.what = what
        self._package = package
        self._group = entry_points
        self._things: dict[str, T] = {}
        self._others: dict[str, EntryPoint] = {}

    def add(self, name: str, thing: T) -> T:
        """Register ``thing`` under ``name``; a name is given once."""
        if name in self._things:
            raise ValueError(f"{self.what} {name!r} is registered twice")
        self._things[name] = thing
        return thing

    def _load(self) -> None:
        if self._package is not None:
            package = importlib.import_module(self._package)
            self._package = None
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)
        if self._group is not None:
            from importlib.metadata import entry_points

            group, self._group = self._group, None
            self._others = {found.name: found for found in entry_points(group=group) if found.name not in self._things}

    def _load_other(self, name: str) -> None:
        """Import what an entry point names; whatever goes wrong there is told with its name."""
        found = self._others.pop(name)
        try:
            found.load()
        except (Exception, SystemExit) as error:
            self._others[name] = found
            raise PlugInError(
                f"{self.what} {name} cannot be loaded from {found.value}: {type(error).__name__}: {error}",
                hint=f"update or remove the package {found.dist.name}" if found.dist is not None else None,
            ) from error
        if name not in self._things:
            raise PlugInError(f"{found.value} registers no {self.what} of the name {name}")

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted({*self._things, *self._others})

    def __iter__(self) -> Iterator[T]:
        """All that can be loaded; :meth:`broken` has the others."""
        for name in self.names():
            with suppress(PlugInError):
                yield self.get(name)

    def broken(self) -> list[PlugInError]:
        """Why some cannot be loaded."""
        found = []
        for name in self.names():
            try:
                self.get(name)
            except PlugInError as error:
                found.append(error)
        return found

    def get(self, name: str) -> T:
        """The thing of that name; an unknown name is a usage error that lists the near misses."""
        self._load()
        if name in self._others:
            self._load_other(name)
        try:
            return self._things[name]
        except KeyError:
            near = difflib.get_close_matches(name.lower(), self.names(), n=3)
            known = "did you mean " + " or ".join(near) if near else "known: " + ", ".join(self.names())
            raise UsageError(f"no {self.what} is called {name!r}", hint=known) from None

"""Things found by name: protocols, analyses, exporters, commands. To add one is to add one file.

A built-in thing is a module in the folder of its kind. Another package adds a thing by an entry point: its name is the name of the
thing, its value the module (or an object in the module) that registers the thing when it is imported.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from importlib.machinery import FileFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ptttool.errors import PlugInError, UsageError
from ptttool.files.ownership import weakness_of
from ptttool.wording import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def _modules(paths: Iterable[str], package: str) -> Iterator[str]:
    """Yield the names of all modules of a package, at any depth; none is imported."""
    for finder, name, is_package in pkgutil.iter_modules(paths):
        module = f"{package}.{name}"
        yield module
        if is_package and isinstance(finder, FileFinder):
            yield from _modules([str(Path(finder.path, name))], module)


def _has_entry_points(group: str) -> bool:
    """Return whether an installed package may have entry points of a group: the import of importlib.metadata takes longer than this."""
    named = f"[{group}]".encode()
    for folder in dict.fromkeys(sys.path):
        try:
            paths = [entry.path for entry in os.scandir(folder or ".") if entry.name.endswith((".dist-info", ".egg-info"))]
        except NotADirectoryError:  # an archive
            return True
        except OSError:
            continue
        for path in paths:
            with suppress(OSError):
                if named in Path(path, "entry_points.txt").read_bytes():
                    return True
    return False


# Root loads plug-ins that others can change only with this.
FOREIGN_VARIABLE = "PTTTOOL_PLUGINS"

_left_out: list[PlugInError] = []


def allow_foreign_plug_ins() -> None:
    """Let root load plug-ins also from folders that others than root can write; workers inherit that."""
    os.environ[FOREIGN_VARIABLE] = "1"


def left_out() -> list[PlugInError]:
    """Return an error for each plug-in that was left out since the last call, because this is root and others can change it."""
    errors = [*_left_out]
    _left_out.clear()
    return errors


class PlugIns:
    """The entry points of other packages that add things of one kind.

    Parameters
    ----------
    what : str
        The kind, for messages: ``"protocol"``.
    group : str or None
        Group of entry points: ``"ptttool.protocols"``; None where no other package adds things.
    """

    def __init__(self, what: str, group: str | None) -> None:
        self.what = what
        self._group = group
        self._found: dict[str, EntryPoint] | None = None
        self._clashes: list[PlugInError] = []
        self._foreign: dict[str, PlugInError] = {}

    def _find(self) -> dict[str, EntryPoint]:
        """Return the entry points by name; the first one of a name counts."""
        if self._found is None:
            self._found = {}
            if self._group is None or not _has_entry_points(self._group):
                return self._found
            from importlib.metadata import entry_points

            is_cautious = os.geteuid() == 0 and os.environ.get(FOREIGN_VARIABLE, "0") in ("", "0")
            for point in entry_points(group=self._group):
                if is_cautious and (refused := self._foreign_plug_in(point)) is not None:
                    self._foreign.setdefault(point.name, refused)
                    _left_out.append(refused)
                    continue
                first = self._found.setdefault(point.name, point)
                if first.value != point.value:
                    self._clashes.append(self._clash(point, f"{first.value} has that name, too"))
        return self._found

    def _foreign_plug_in(self, point: EntryPoint) -> PlugInError | None:
        """Return the error for an entry point that others than root can change: its distribution, or its module."""
        folders = [] if point.dist is None else [str(point.dist.locate_file(""))]
        try:
            spec = importlib.util.find_spec(point.module.partition(".")[0])
        except (ImportError, ValueError):  # reported when it is loaded
            spec = None
        if spec is not None:
            folders += [path for path in (spec.origin, *(spec.submodule_search_locations or ())) if path is not None]
        weakness = next((each for each in map(weakness_of, folders) if each is not None), None)
        if weakness is None:
            return None
        return PlugInError(
            f"{self.what} {point.name} from {point.value} is left out: {weakness}, and this is root",
            hint="--plugins before the command loads it all the same",
            code="plug-in-left-out",
            name=point.name,
        )

    def refused(self, name: str) -> PlugInError | None:
        """Return why a plug-in of that name is left out; None if there is none."""
        self._find()
        return self._foreign.get(name)

    def names(self) -> list[str]:
        """Return the names, sorted; without plug-ins that are left out."""
        return sorted(self._find())

    def load(self, name: str) -> Any:
        """Import what an entry point names.

        Raises
        ------
        PlugInError
            The import fails, for any reason: ``code`` is ``bad-plug-in``.
        """
        point = self._find()[name]
        try:
            return point.load()
        except (Exception, SystemExit) as error:
            raise PlugInError(
                f"{self.what} {name} cannot be loaded from {point.value}: {type(error).__name__}: {error}",
                hint=_mend(point),
                name=name,
            ) from error

    def registers_nothing(self, name: str) -> PlugInError:
        """Make the error for an entry point that was imported and did not register its name."""
        point = self._find()[name]
        return PlugInError(f"{point.value} does not register a {self.what} with the name {name}", hint=_mend(point), name=name)

    def clashes(self, built_in: Set[str]) -> list[PlugInError]:
        """Return an error for every entry point that does not count, since its name is taken.

        Parameters
        ----------
        built_in : set of str
            Names of the built-in things.
        """
        points = self._find()
        taken = [self._clash(point, "that name is built in") for name, point in points.items() if name in built_in]
        return [*taken, *self._clashes]

    def _clash(self, point: EntryPoint, reason: str) -> PlugInError:
        return PlugInError(
            f"{self.what} {point.name} from {point.value} is not used: {reason}",
            hint=None if point.dist is None else f"remove the package {point.dist.name}, or rename its {self.what}",
            code="plug-in-clash",
            name=point.name,
        )


def _mend(point: EntryPoint) -> str | None:
    return None if point.dist is None else f"update or remove the package {point.dist.name}"


class Registry(Generic[T]):
    """Named things of one kind.

    Built-in things are imported when they are first needed: ``get("a-b")`` tries the modules ``a_b``, ``a.b`` and ``a.b.protocol`` (or
    what the things are) of the package before it imports the others. An entry point is imported when its name is asked for.

    Parameters
    ----------
    what : str
        The kind, for messages: ``"protocol"``.
    package : str, optional
        Dotted name of the package that holds the built-in things: its modules, at any depth, register themselves when imported.
    entry_points : str, optional
        Group of entry points by which other packages add things.
    """

    def __init__(self, what: str, package: str | None = None, entry_points: str | None = None) -> None:
        self.what = what
        self._package = package
        self._loaded = package is None
        self._plug_ins = PlugIns(what, entry_points)
        self._things: dict[str, T] = {}
        self._built_in: set[str] = set()
        self._of_plug_in = False

    def add(self, name: str, thing: T) -> T:
        """Register a thing.

        Parameters
        ----------
        name : str
            Its name.
        thing : T
            The thing.

        Returns
        -------
        T
            The thing, as it is.

        Raises
        ------
        ValueError
            The name is taken.
        """
        if name in self._things:
            raise ValueError(f"{self.what} {name!r} is registered twice")
        self._things[name] = thing
        if not self._of_plug_in:
            self._built_in.add(name)
        return thing

    def _load_built_in(self) -> None:
        if self._loaded or self._package is None:
            return
        self._loaded = True
        package = importlib.import_module(self._package)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)

    def _load_module_of(self, name: str) -> None:
        """Import the module of the package that has the name of the thing, if there is one."""
        if self._loaded or self._package is None:
            return
        package = importlib.import_module(self._package)
        for module in _modules(package.__path__, package.__name__):
            path = module.removeprefix(f"{self._package}.").removesuffix(f".{self.what}")
            if path.replace(".", "-").replace("_", "-") == name:
                importlib.import_module(module)

    def _load_plug_in(self, name: str) -> None:
        self._of_plug_in = True
        try:
            self._plug_ins.load(name)
        finally:
            self._of_plug_in = False
        if name not in self._things:
            raise self._plug_ins.registers_nothing(name)

    def names(self) -> list[str]:
        """Return all names, sorted; those of plug-ins that cannot be loaded are among them."""
        self._load_built_in()
        return sorted({*self._things, *self._plug_ins.names()})

    def __iter__(self) -> Iterator[T]:
        """Iterate over all things that can be loaded, by name; :meth:`broken` reports the others."""
        for name in self.names():
            with suppress(PlugInError):
                yield self.get(name)

    def broken(self) -> list[PlugInError]:
        """Return why some plug-ins cannot be loaded, or are not used since their names are taken."""
        errors = []
        for name in self.names():
            try:
                self.get(name)
            except PlugInError as error:
                errors.append(error)
        return errors + self._plug_ins.clashes(self._built_in)

    def get(self, name: str) -> T:
        """Return the thing with a name.

        Raises
        ------
        UsageError
            No thing has that name; the hint lists similar names.
        PlugInError
            The plug-in of that name cannot be loaded, or is left out (``plug-in-left-out``).
        """
        if name not in self._things:
            self._load_module_of(name)
        if name not in self._things:
            self._load_built_in()
        if name not in self._things and name in self._plug_ins.names():
            self._load_plug_in(name)
        if name not in self._things and (refused := self._plug_ins.refused(name)) is not None:
            raise refused
        try:
            return self._things[name]
        except KeyError:
            near = difflib.get_close_matches(name.lower(), self.names(), n=3)
            hint = did_you_mean(near) if near else "known: " + ", ".join(self.names())
            raise UsageError(f"unknown {self.what} {name!r}", hint=hint, code=f"unknown-{self.what.replace(' ', '-')}") from None

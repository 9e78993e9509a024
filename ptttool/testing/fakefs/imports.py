"""Modules that are imported while the file system is a fake one, and that outlive the test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem
    from pyfakefs.fake_filesystem_unittest import DynamicPatcher

# ptttool, and what it imports when it needs it. A script under test is not among them: it may read the machine when it is imported.
KEPT = frozenset(
    "ptttool capstone distributed fsspec jinja2 msgspec numpy perfetto polars pyudev rich textual tomli_w typer zstandard".split()
)


class RealImports(MetaPathFinder, Loader):
    """Import ptttool and its libraries with the real file system, for this test and all later ones.

    pyfakefs gives its own ``os`` to a module that is imported during a test, and forgets the module when the test ends: the next test
    would import it again, and get other copies of the same classes, which are not equal to the first ones. To import everything
    before the first test takes seconds.

    Parameters
    ----------
    fs
        The file system of pyfakefs.
    after
        Called after each import.
    """

    def __init__(self, fs: FakeFilesystem, after: Callable[[], None]) -> None:
        self._fs = fs
        self._after = after
        self._kept: set[str] = set()
        self._loaders: dict[str, Loader] = {}

    def install(self) -> None:
        """Stand behind the finder of pyfakefs, which takes away the first finder when it ends."""
        sys.meta_path.insert(1, self)

    def remove(self) -> None:
        """Import as before."""
        sys.meta_path.remove(self)

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how to import a module that is kept; None for others, and while the file system is the real one."""
        top = fullname.partition(".")[0]
        if not self._fs.patcher.is_patching or (top not in KEPT and top not in sys.stdlib_module_names):
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    self._loaders[spec.name], spec.loader = spec.loader, self
                return spec
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let the module's own loader make it."""
        return self._loaders[spec.name].create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own loader back, and run its code with the real file system."""
        module.__loader__ = loader = self._loaders.pop(module.__name__)
        if module.__spec__ is not None:
            module.__spec__.loader = loader
        self._kept.add(module.__name__)
        with self.real_files():
            loader.exec_module(module)
        self._after()

    @contextmanager
    def real_files(self) -> Iterator[None]:
        """Give the real file system back for the ``with`` block, and keep the modules that the test has imported."""
        before = dict(sys.modules)
        self._fs.pause()
        forgotten = [name for name in before if name not in sys.modules]
        sys.modules.update({name: before[name] for name in forgotten})
        try:
            yield
        finally:
            # What the block has imported gets the fake modules like what was there before.
            self._fs.patcher._find_modules()
            self._fs.resume()
            finder = cast("DynamicPatcher", sys.meta_path[0])
            for name in forgotten:
                if name not in self._kept:
                    finder.needs_patch(name)  # also notes it as one to forget when the test ends

"""A fake machine: described, mounted through pyfakefs, or written as real files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Machine
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.testing.description import MachineDescription
from ptttool.testing.tree import Tree, read_attributes, render, write_tree

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem

    from ptttool.testing.fakefs.mount import Mount


class FakeMachine(MachineDescription):
    """A machine that exists in a test; its parameters are those of :class:`~ptttool.testing.description.MachineDescription`."""

    _mount: Mount | None = None

    def tree(self) -> Tree:
        """Return the files, links and attributes of the machine as it is described now."""
        return render(self)

    def read(self) -> Machine:
        """Return what ptttool finds on the machine, without mounting it."""
        tree = self.tree()
        files = {path: attribute.show() for path, attribute in tree.files.items()}
        files["/udev.txt"] = tree.database().encode()
        return read_machine(RecordedSource(MemoryFiles(files, tree.links), f"the fake machine {self.hostname}"))

    def write_to(self, folder: str | os.PathLike[str]) -> str:
        """Write the machine into a folder of the real file system, for shell scripts, playbooks and other processes.

        The folder then holds ``sys``, ``proc`` and ``udev.txt``, as ``ptttool --sysfs`` reads them. These are plain files: a write is
        stored as it is, nothing is clamped or refused, and no failure of an attribute is emulated.

        Parameters
        ----------
        folder
            An empty or new folder.

        Returns
        -------
        str
            The folder.
        """
        with self._real_files():
            return write_tree(self.tree(), os.fspath(folder))

    def read_from(self, folder: str | os.PathLike[str]) -> dict[str, str]:
        """Return what the tune attributes hold in a folder that :meth:`write_to` made: ``hisi_ptt0_0/qos_tx_p`` to the text."""
        with self._real_files():
            return read_attributes(self, os.fspath(folder))

    def _real_files(self) -> AbstractContextManager[None]:
        return nullcontext() if self._mount is None else self._mount.paused()

    def mount(self, fs: FakeFilesystem) -> None:
        """Show the machine in a pyfakefs file system. The fixture ``ptt_machine`` does this, and takes it back at the end."""
        from ptttool.testing.fakefs.mount import Mount

        self.unmount()
        self._mount = Mount(self, fs)

    def unmount(self) -> None:
        """Take the machine out of the file system."""
        if self._mount is not None:
            self._mount.undo()
            self._mount = None

    def remove(self, address: str) -> None:
        """Take away a function and all behind it, as hot-plug does. Raises KeyError for an unknown address."""
        super().remove(address)
        self.refresh()

    def refresh(self) -> None:
        """Show what was added or removed since the machine was mounted. Does nothing for one that is not."""
        if self._mount is not None:
            self._mount.refresh()

    @contextmanager
    def as_user(self, uid: int = 1000) -> Iterator[None]:
        """Let the code in the ``with`` block run as another user than root, for whom the modes of files count."""
        if self._mount is None:
            raise RuntimeError("only a machine that is mounted has users")
        with self._mount.user(uid):
            yield

"""The pytest plug-in: fixtures that show the code under test a machine with PTT devices.

It is found through the entry point group ``pytest11``. Importing it costs nothing; pyfakefs is loaded when a fixture is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem

    from ptttool.testing.machine import FakeMachine

MISSING = "the fixture needs pyfakefs and its pytest plug-in: pip install pyfakefs"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "ptt_machine(kernel, *, machine): what ptt_machine is: kernel='6.1', or machine=function that returns a FakeMachine",
    )


@pytest.fixture
def _fake_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeFilesystem]:
    """Return the file system of pyfakefs, with the files of the project and pytest's temporary folders in it."""
    try:
        import pyfakefs.fake_filesystem  # noqa: F401 - asked for by name, so that another missing module is not hidden
    except ImportError:
        pytest.fail(MISSING, pytrace=False)
    if not request.config.pluginmanager.hasplugin("pyfakefs.pytest_plugin") and not request.config.pluginmanager.hasplugin("fakefs"):
        pytest.fail(MISSING, pytrace=False)
    import asyncio.unix_events
    import subprocess

    from pyfakefs.fake_filesystem_unittest import Patcher, Pause

    from ptttool.testing.fakefs.mount import show_folder

    # Pipes to processes are real ones. By names, pyfakefs would look at the stack in every call.
    real = {subprocess, asyncio.unix_events}
    if not real <= Patcher.SKIPMODULES:
        Patcher.SKIPMODULES.update(real)
        Patcher.clear_fs_cache()
    nested = Patcher.REF_COUNT > 0
    # pytest makes temporary folders with the real file system.
    with Pause(cast(Patcher, Patcher.PATCHER)) if nested else nullcontext():
        request.getfixturevalue("tmp_path")
        folders = {request.config.rootpath, request.path.parent, request.config.invocation_params.dir, tmp_path_factory.getbasetemp()}
    here = Path.cwd()
    # Patches for pandas import it, for a second or two: there is nothing to patch before a test does.
    with Patcher(use_known_patches=nested or "pandas" in sys.modules) as patcher:
        assert patcher.fs is not None
        shown = "\n"
        for folder in sorted(f"{folder}/" for folder in folders if folder != folder.parent):
            if not folder.startswith(shown):
                shown = folder
                show_folder(patcher.fs, folder.rstrip("/"))
        if not nested and patcher.fs.isdir(str(here)):
            patcher.fs.cwd = str(here)
        yield patcher.fs


@pytest.fixture
def mount_ptt_machine(_fake_files: FakeFilesystem) -> Iterator[Callable[[FakeMachine], FakeMachine]]:
    """Return a function that makes a :class:`~ptttool.testing.FakeMachine` the machine that the test runs on.

    While it is mounted, Python code reads and writes its files through pyfakefs, and pyudev finds its devices. At the end of the test
    everything is as before.
    """
    mounted: list[FakeMachine] = []

    def mount(machine: FakeMachine) -> FakeMachine:
        if mounted:
            mounted.pop().unmount()
        machine.mount(_fake_files)
        mounted.append(machine)
        return machine

    yield mount
    for machine in mounted:
        machine.unmount()


@pytest.fixture
def ptt_machine(request: pytest.FixtureRequest, mount_ptt_machine: Callable[[FakeMachine], FakeMachine]) -> FakeMachine:
    """Return a machine with three PTT devices, mounted: :func:`ptttool.testing.kunpeng` under Linux 6.12.

    The marker ``ptt_machine`` chooses another one.
    """
    from ptttool.testing import kunpeng

    marker = request.node.get_closest_marker("ptt_machine")
    return mount_ptt_machine(_marked(*marker.args, **marker.kwargs) if marker is not None else kunpeng())


def _marked(kernel: str = "6.12", *, machine: Callable[[], FakeMachine] | None = None) -> FakeMachine:
    """Return the machine that a marker with these arguments asks for."""
    from ptttool.testing import kunpeng

    return kunpeng(kernel) if machine is None else machine()

"""The pytest plug-in: fixtures that show the code under test a machine with PTT devices.

It is found through the entry point group ``pytest11``. Importing it costs nothing; pyfakefs is loaded when a fixture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ptttool.testing.machine import FakeMachine

MISSING = "the fixture needs pyfakefs and its pytest plug-in: pip install pyfakefs"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "ptt_machine(kernel, *, machine): what ptt_machine is: kernel='6.1', or machine=function that returns a FakeMachine",
    )


@pytest.fixture
def mount_ptt_machine(request: pytest.FixtureRequest) -> Iterator[Callable[[FakeMachine], FakeMachine]]:
    """Return a function that makes a :class:`~ptttool.testing.FakeMachine` the machine that the test runs on.

    While it is mounted, Python code reads and writes its files through pyfakefs, and pyudev finds its devices. At the end of the test
    everything is as before.
    """
    try:
        import pyfakefs.fake_filesystem  # noqa: F401 - asked for by name, so that another missing module is not hidden
    except ImportError:
        pytest.fail(MISSING, pytrace=False)
    from ptttool.testing.fakefs.imports import import_all

    import_all()
    try:
        fs = request.getfixturevalue("fs")
    except pytest.FixtureLookupError:
        pytest.fail(MISSING, pytrace=False)
    mounted: list[FakeMachine] = []

    def mount(machine: FakeMachine) -> FakeMachine:
        if mounted:
            mounted.pop().unmount()
        machine.mount(fs)
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

"""What every test starts from."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples of a test that is given generated data; --hypothesis-profile names another profile. Nothing depends on how fast the machine is.
SLOW = [HealthCheck.too_slow]
settings.register_profile("dev", max_examples=25, deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", max_examples=40, deadline=None, print_blob=True, suppress_health_check=SLOW)
settings.register_profile("long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=SLOW)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Named as its entry point: found there where this ptttool is installed, imported otherwise. pytester: separate runs of pytest.
pytest_plugins = ["ptttool.testing.plugin", "pytester"]

# A runner in the background may have these ignored, and children inherit that; tests that send them mean a program in the foreground.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal's size and wishes: runners of tests set some of these, and output follows them."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Locks and journals of the test alone: not those of the machine that the tests run on."""
    monkeypatch.setenv("PTTTOOL_RUNTIME_DIR", str(tmp_path / "own" / "run"))
    monkeypatch.setenv("PTTTOOL_STATE_DIR", str(tmp_path / "own" / "state"))

"""Run the quick part of the suite with every other Python version that is installed, or with the lowest versions of the dependencies.

``python tests/interpreters.py FOLDER`` makes a virtual environment for each version in FOLDER. A version that is not installed is reported
and is fine; one that is installed and fails makes the exit code 1. ``--lowest`` takes this Python and the floors of ``pyproject.toml``
instead. Needs the standard library only.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# What test_smoke.py and conftest.py need beside ptttool itself.
PACKAGES = (".[flow]", "hypothesis", "pyfakefs", "pytest")
WORKS = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def candidates(version: str) -> Iterator[str]:
    """Yield the interpreters of a version that may be there: on PATH, then those of pyenv."""
    for folder in os.get_exec_path():
        found = shutil.which(f"python{version}", path=folder)
        if found is not None:
            yield found
    yield from sorted(str(path) for path in (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))


def interpreter(version: str) -> str | None:
    """Return an interpreter of a version that starts and can make virtual environments, or None.

    A stand-in of pyenv for a version that is not chosen is on PATH and does not start: that is not a broken Python.
    """
    for path in candidates(version):
        done = subprocess.run([path, "-c", WORKS], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return path
    return None


def lowest() -> list[str]:
    """Return the dependencies, each in the lowest version that ``pyproject.toml`` allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    floors = [each.partition(",")[0] for each in (*project["dependencies"], *project["optional-dependencies"]["flow"])]
    return [floor.replace(">=", "==") for floor in floors]


def run(python: str, environment: Path, pinned: Sequence[str] = ()) -> tuple[bool, str]:
    """Install ptttool for an interpreter where that is out of date, and run the tests; return whether they pass, and the output."""
    wanted = hashlib.sha256(
        "\n".join([python, *PACKAGES, *pinned, (ROOT / "pyproject.toml").read_text(encoding="utf-8")]).encode()
    ).hexdigest()
    stamp, own = environment / "installed", environment / "bin" / "python"
    commands: list[list[str]] = []
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(environment, ignore_errors=True)
        commands += [
            [python, "-m", "venv", str(environment)],
            [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", *PACKAGES, *pinned],
        ]
    tests = [str(own), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "smoke", "tests/test_smoke.py"]
    for command in (*commands, tests):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            return False, f"{' '.join(command)}\n{done.stdout}"
        if "pip" in command:
            stamp.write_text(wanted)
    return True, done.stdout.splitlines()[-1]


def main(folder: Path, *options: str) -> int:
    """Test every version but the one that runs this, or the lowest dependencies."""
    if "--lowest" in options:
        passed, output = run(sys.executable, folder / "lowest", lowest())
        print(f"lowest dependencies: {'passed' if passed else 'FAILED'}: {output}")
        return 0 if passed else 1
    others = [version for version in VERSIONS if version != f"{sys.version_info.major}.{sys.version_info.minor}"]
    found = {version: interpreter(version) for version in others}
    good = True
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {version: pool.submit(run, python, folder / version) for version, python in found.items() if python is not None}
        for version in others:
            if version not in runs:
                print(f"Python {version}: not installed")
                continue
            passed, output = runs[version].result()
            good &= passed
            print(f"Python {version}: {'passed' if passed else 'FAILED'}: {output}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), *sys.argv[2:]))

"""Compile the loops of ``ptttool/kernel`` when a wheel is built, where there is a C compiler; else they are installed as plain Python.

``PTTTOOL_LOOPS`` is ``compiled`` (fail if it cannot be done), ``plain`` (do not try), or ``auto``; ``CC`` the compiler, with options;
``PTTTOOL_PLATFORM`` the platform of the wheel's name, where the compiler is one for another system: ``manylinux_2_28_aarch64``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("ptttool") / "kernel"
# The oldest Python that is supported: the module works with every one from there on.
OLDEST = (3, 11)
# An index out of bounds is an error, as in Python.
CYTHON = "-m cython -3 -X annotation_typing=False -X boundscheck=True -X wraparound=False -X initializedcheck=False".split()


class CannotCompile(Exception):
    """There is no Cython, no compiler, or no header of Python."""


def names_in(folder: Path) -> list[str]:
    """Return what is compiled: it has its C types beside it."""
    return sorted(file.stem for file in folder.glob("*.pxd"))


def compile_loops(root: Path, folder: Path) -> list[Path]:
    """Compile the loops of a project in a folder for what is made on the way; return the modules."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    limited = f"-DPy_LIMITED_API=0x{OLDEST[0]:02X}{OLDEST[1]:02X}0000"
    headers = [f"-I{sysconfig.get_path(name)}" for name in ("include", "platinclude")]
    modules = []
    for name in names_in(root / FOLDER):
        source, made = folder / f"{name}.c", folder / f"{name}.abi3.so"
        _run([sys.executable, *CYTHON, str(FOLDER / f"{name}.py"), "-o", str(source)], root)
        _run([*compiler, "-O3", "-fwrapv", "-fPIC", "-shared", "-s", limited, *headers, str(source), "-o", str(made)], root)
        modules.append(made)
    return modules


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        raise CannotCompile(str(error)) from error
    if done.returncode:
        raise CannotCompile(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stdout}")


class CompileLoops(BuildHookInterface):  # type: ignore[misc]  # hatchling is there when a wheel is built, only
    """Puts the compiled loops into a wheel; for an editable install, beside their source."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the wheel after the platform."""
        wanted = os.environ.get("PTTTOOL_LOOPS", "auto")
        place = Path(self.root) / FOLDER
        if version == "editable":
            for name in names_in(place):
                (place / f"{name}.abi3.so").unlink(missing_ok=True)  # a process that has loaded it keeps it
        if wanted == "plain" or sys.implementation.name != "cpython":
            return
        self._work = tempfile.TemporaryDirectory()
        try:
            made = compile_loops(Path(self.root), Path(self._work.name))
        except CannotCompile as error:
            if wanted == "compiled":
                raise
            self.app.display_warning(f"the loops are not compiled, ptttool will be slower: {error}")
            return
        if version == "editable":
            for one in made:
                shutil.copyfile(one, place / one.name)
            return
        platform = os.environ.get("PTTTOOL_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"].update({str(one): str(FOLDER / one.name) for one in made})
        build_data["pure_python"], build_data["tag"] = False, f"cp{OLDEST[0]}{OLDEST[1]}-abi3-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was made on the way."""
        if hasattr(self, "_work"):
            self._work.cleanup()

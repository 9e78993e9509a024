"""Installed distributions, made on the fly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def make_distribution(folder: Path, name: str, modules: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write modules and the dist-info of a distribution, as an installer does; it is installed where the folder is on the path.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        Name of the distribution.
    modules : Mapping of str to str
        Source text by module name.
    entry_points : Mapping of str to (Mapping of str to str)
        By group and name, what the entry point refers to.
    """
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items()) for group, points in entry_points.items()]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

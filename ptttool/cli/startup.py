"""What root imports: only what root alone can write.

Python looks for modules in the folders of ``sys.path``. Whoever can write one of them can have their code run by the next command of root.
Folders that the interpreter and ptttool themselves are installed in cannot be left out; others are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from ptttool.errors import AccessError
from ptttool.files.ownership import Weakness, weakness_of


def secure_import_path() -> Iterator[str]:
    """As root, leave folders out of ``sys.path`` that others can write.

    Yields
    ------
    str
        A warning: a folder that was left out, or one of the installation that belongs to another user.

    Raises
    ------
    AccessError
        Every user can write a folder of the installation: ``unsafe-installation``.
    """
    if os.geteuid() != 0:
        return
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH120
    needed = {os.path.realpath(path) for path in (home, sys.prefix, sys.base_prefix, sys.exec_prefix)}
    trusted = _whoever_became_root()
    kept = []
    left_out: list[tuple[str, Weakness]] = []
    foreign: Weakness | None = None
    for entry in sys.path:
        weakness = weakness_of(entry, trusted=trusted) if os.path.isabs(entry) else None  # noqa: PTH117
        if not os.path.isabs(entry):  # noqa: PTH117
            yield f"{entry or 'the current folder'} is not searched for Python modules: root takes them from absolute paths only"
        elif weakness is None:
            kept.append(entry)
        elif not _is_below(os.path.realpath(entry), needed):
            left_out.append((entry, weakness))
        elif weakness.everyone:
            raise AccessError(
                f"this is root, and ptttool or its Python is installed where {weakness}",
                hint="take that permission away (chmod o-w), or use another installation",
                code="unsafe-installation",
                path=weakness.path,
            )
        else:
            kept.append(entry)
            foreign = foreign or weakness
    sys.path[:] = kept
    for entry, weakness in left_out:
        if (
            foreign is None or weakness.everyone or weakness.user in (None, 0) or weakness.user != foreign.user
        ):  # else one warning is enough
            yield f"{entry} is not searched for Python modules: {weakness}, and this is root"
    if foreign is not None and not _is_quiet():
        yield f"root runs a ptttool that others can change ({foreign}); 'sudo pipx install --global' installs one that they cannot"


def _is_quiet() -> bool:
    """Tell whether the command line has --quiet: who wrote it knows the installation, and nothing is left out because of it."""
    own = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    return not {"-q", "--quiet"}.isdisjoint(own)


def _whoever_became_root() -> frozenset[int]:
    """Return user and group that called sudo: they could change more than this."""
    return frozenset(int(value) for value in map(os.environ.get, ("SUDO_UID", "SUDO_GID")) if value is not None and value.isdecimal())


def _is_below(path: str, folders: set[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)

"""The real tshark, with ptttool's dissector, in a home of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import ptttool

DISSECTOR = Path(ptttool.__file__).parent / "share" / "wireshark" / "ptttool.lua"


def tshark(home: Path, *arguments: str | Path, dissector: Path | None = DISSECTOR, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run tshark; `dissector` None: with what is installed in `home`."""
    home.mkdir(exist_ok=True, parents=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment = kept | {"HOME": str(home), "WIRESHARK_CONFIG_DIR": str(home / ".config" / "wireshark"), "LC_ALL": "C.UTF-8"}
    script = [] if dissector is None else ["-X", f"lua_script:{dissector}"]
    command = ["tshark", *script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    if check:
        assert done.returncode == 0, done.stderr
        assert "Lua Error:" not in done.stdout + done.stderr, done.stdout[-2000:] + done.stderr
    return done


def fields(home: Path, capture: Path, names: Sequence[str], *options: str) -> list[list[str]]:
    """Return the texts of fields, a row a packet; several values of a field are joined by commas."""
    chosen = [part for name in names for part in ("-e", name)]
    shown = tshark(home, "-r", capture, "-T", "fields", "-E", "separator=/t", *options, *chosen).stdout
    return [line.split("\t") for line in shown.split("\n")[:-1]]

"""What makes bash, zsh and fish ask ptttool how a line may go on, and where each looks for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from ptttool.cli.completion.words import FOLDER
from ptttool.errors import UsageError

_FILES: Final = {shell: FOLDER / f"ptttool.{shell}" for shell in ("bash", "zsh", "fish")}


def script_of(shell: str) -> str:
    """Return the script of a shell; raise UsageError for another one."""
    if shell not in _FILES:
        raise UsageError(f"no completion for {shell or 'this shell'}", hint=f"there is one for {', '.join(_FILES)}", code="unknown-shell")
    return _FILES[shell].read_text(encoding="utf-8")


def install() -> tuple[Path, str]:
    """Write the script of the user's shell, as the environment names it, where it looks for scripts of this user.

    Returns
    -------
    path : Path
        The file.
    then : str
        What is to be done so that it is used.

    Raises
    ------
    UsageError
        There is no completion for the shell.
    OutputError
        The file cannot be written.
    """
    from ptttool.files.atomic import output_file

    shell = Path(os.environ.get("SHELL", "")).name
    script = script_of(shell)
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    path, then = {
        "bash": (data / "bash-completion" / "completions" / "ptttool", "start a new shell; without the package bash-completion: source {}"),
        "zsh": (home / ".zfunc" / "_ptttool", "have this in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit && compinit"),
        "fish": (config / "fish" / "completions" / "ptttool.fish", "start a new shell"),
    }[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    with output_file(path, force=True) as file:
        file.write(script.encode())
    return path, then.format(path)

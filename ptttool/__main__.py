"""``python -m ptttool`` and the ``ptttool`` script."""

import gc
import os
import sys


def _forget_current_folder() -> None:
    """Take the current folder out of ``sys.path``, where ``python -m`` puts it first, unless ptttool itself lies there.

    Until here Python has looked there for what it imports itself: root should call the script, or ``python -P -m ptttool``.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH120 - pathlib may lie in the current folder
    if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0]) != os.path.realpath(home):
        del sys.path[0]


if __name__ == "__main__":
    _forget_current_folder()


def _search_installation_only() -> list[str]:
    """As root, search only folders of the installation until :func:`~ptttool.cli.startup.secure_import_path` has looked at the others.

    Returns
    -------
    list of str
        ``sys.path`` as it was.
    """
    given = sys.path[:]
    if os.geteuid() == 0:
        home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH120
        installed = tuple(os.path.join(os.path.realpath(path), "") for path in (home, sys.prefix, sys.base_prefix, sys.exec_prefix))  # noqa: PTH118
        absolute = [entry for entry in given if os.path.isabs(entry)]  # noqa: PTH117
        sys.path[:] = [entry for entry in absolute if os.path.join(os.path.realpath(entry), "").startswith(installed)]  # noqa: PTH118
    return given


def run() -> None:
    """Run the command line and leave with its exit code."""
    given = _search_installation_only()
    shell = os.environ.get("_PTTTOOL_COMPLETE")
    if shell is not None:
        sys.exit(_complete(shell, given))
    # What is imported stays: looking for cycles in it, again and again, takes up to a tenth of a short command.
    gc.set_threshold(100_000, 10, 10)
    from ptttool.cli.terminal.streams import drop_what_cannot_be_written, settle_streams

    settle_streams()
    try:
        from ptttool.cli.unexpected import guarded

        code = guarded(lambda: _main(given))
    except KeyboardInterrupt:  # outside of the command line's own boundary
        code = 130
    except Exception as error:  # not even the code that reports errors can be imported
        os.write(2, f"ptttool: error: {type(error).__name__}: {error}\n".encode(errors="backslashreplace"))
        code = 70
    drop_what_cannot_be_written()
    sys.exit(code)


def _complete(shell: str, path: list[str]) -> int:
    """Answer a shell that completes a line: in silence, whatever happens, and without importing the commands."""
    try:
        from ptttool.cli.startup import secure_import_path

        sys.path[:] = path
        for _ in secure_import_path():
            pass
        from ptttool.cli.completion.answer import main
        from ptttool.files.standard import write_whole

        write_whole("stdout")
        code = main(shell, sys.argv[1:])
        sys.stdout.flush()
        return code
    except Exception as error:
        from ptttool.cli.terminal.streams import drop_what_cannot_be_written

        drop_what_cannot_be_written()
        return 6 if isinstance(error, OSError) else 1


def _main(path: list[str]) -> int:
    from ptttool.cli.startup import secure_import_path

    sys.path[:] = path
    warnings = [*secure_import_path()]
    from ptttool.cli.main import main
    from ptttool.cli.terminal.talk import warn

    for text in warnings:
        warn(text)
    return main()


if __name__ == "__main__":
    run()

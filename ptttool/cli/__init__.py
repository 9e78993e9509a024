"""The command line: options and nothing else; one file a command in ``commands``."""

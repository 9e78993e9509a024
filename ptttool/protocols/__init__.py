"""One file a specification: bytes in, blocks of columns out; never a file, never a screen."""

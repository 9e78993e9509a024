"""One file a specification: bytes in, frames out; never a file, never a screen."""

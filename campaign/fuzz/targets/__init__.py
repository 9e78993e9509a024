"""The targets: one for each reader of bytes from outside."""

"""Files: written whole or not at all, and read from remote storage."""

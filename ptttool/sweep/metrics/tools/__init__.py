"""Tools whose metrics are known by name, one file each."""

"""One file a command; each adds itself to the application when imported."""

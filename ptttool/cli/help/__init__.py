"""Help: what a command says of itself, and how ``--help`` and the manual pages show it."""

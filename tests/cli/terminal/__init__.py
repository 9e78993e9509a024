"""What the command line does with the terminal."""

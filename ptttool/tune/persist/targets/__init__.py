"""What sets the values of a profile at every start: one file each."""

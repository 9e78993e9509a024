"""What analyses want to know of a machine besides its names: addresses of its functions and memory, and settings of their links."""

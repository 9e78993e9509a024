"""What is there and cannot be used: CPUs that are offline, PTT devices without a driver."""

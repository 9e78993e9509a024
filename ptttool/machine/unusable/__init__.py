"""What cannot be used, or is not said: CPUs that are offline, PTT devices without a driver, what older kernels leave out."""

"""Taking work and reporting on it, under leases."""

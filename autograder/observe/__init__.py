"""What runs beside student code: the standard library and NumPy alone, nothing of the course."""

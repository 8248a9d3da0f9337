"""What is stored, and the geometry in which it moves."""

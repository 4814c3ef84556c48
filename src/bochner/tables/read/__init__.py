"""Tables from files and standard input."""

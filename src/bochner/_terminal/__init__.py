"""Progress, text, files and the description of the environment for the command line."""

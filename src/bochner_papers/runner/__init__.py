"""Find, run, store and summarize experiments."""

"""One module per command, or per group of related commands."""

"""Measures branchline beside the real pi, on the same machine, files and minute."""

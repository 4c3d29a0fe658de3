"""Benchmarks of branchline against the real pi, on the same machine and files, in the same run."""

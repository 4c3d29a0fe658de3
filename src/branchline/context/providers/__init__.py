"""Requests in the format of each model provider."""

"""Requests in the shape of each model provider."""

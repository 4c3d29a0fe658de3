"""Views of the session browser."""

"""What the session browser shows, as data."""

"""The widgets that screens are made of: each draws lines that a view gives it."""

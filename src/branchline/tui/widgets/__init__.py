"""The widgets: each draws lines from a view."""

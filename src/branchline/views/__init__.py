"""Views: rows, cards, lines and documents as plain data, for every interface to render."""

"""What a screen shows, without a screen: texts, rows, cards and documents as plain data."""

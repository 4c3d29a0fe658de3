"""Goose: sessions in a SQLite database, before that in files of lines; read-only here."""

from branchline.formats.goose.format import GOOSE

__all__ = ["GOOSE"]

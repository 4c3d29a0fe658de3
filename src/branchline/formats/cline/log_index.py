"""Index of a Cline session."""

from __future__ import annotations

from branchline.formats.log_index import LinkedLogIndex

__all__ = ["ClineLogIndex"]


class ClineLogIndex(LinkedLogIndex):
    """Index that also holds the models of requests, which are recorded apart from the answers."""

    def __init__(self) -> None:
        super().__init__("cline")
        self.request_models: dict[int, tuple[str, str]] = {}
        """Provider and model, by the entry with the tokens of a request."""
        self.task_model: str | None = None

    @property
    def model(self) -> str | None:
        """The model that the list of tasks names, if no answer does."""
        return self.task_model

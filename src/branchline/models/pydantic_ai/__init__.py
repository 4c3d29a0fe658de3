"""Every pydantic-ai provider as a :class:`~branchline.models.Model`.

Importing this package loads pydantic-ai. Only requests go through it: the conductor owns the conversation,
the tool loop and the retries, so that every message is on disk when it is shown.
"""

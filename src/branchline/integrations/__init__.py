"""Session storage for agent frameworks.

Each module is named after one framework and is the only one that imports it:
:mod:`~branchline.integrations.openai_agents`, :mod:`~branchline.integrations.langgraph`,
:mod:`~branchline.integrations.pydantic_ai`, :mod:`~branchline.integrations.claude_agent`,
:mod:`~branchline.integrations.adk` and :mod:`~branchline.integrations.agent_framework`. Every adapter accepts
the address of a store: a directory, ``file.db`` or ``postgresql://…``.
"""

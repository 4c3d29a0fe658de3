"""Past sessions for other agents, served over the Model Context Protocol (extra ``mcp``).

:mod:`branchline.mcp.history` makes the answers: redacted, bounded and marked as quoted history.
:mod:`branchline.mcp.server` offers them as tools and resources; it is the only module that imports ``mcp``.
"""

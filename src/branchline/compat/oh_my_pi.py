"""oh-my-pi's ``SessionManager`` and the tree methods of its ``AgentSession``, in snake and camel case."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from branchline import flows
from branchline.compat._facade import ManagerFacade
from branchline.context import Context
from branchline.entries import Entry
from branchline.errors import InvalidType

__all__ = ["AgentSession", "SessionManager", "SessionTreeNode"]

_Path = str | os.PathLike[str]


@dataclass(slots=True)
class SessionTreeNode:
    """An entry, its children (oldest first) and its label."""

    entry: Entry
    children: builtins.list[SessionTreeNode] = field(default_factory=builtins.list)
    label: str | None = None


class SessionManager(ManagerFacade):
    """One session: its tree, its leaf and its labels."""

    _format = "oh-my-pi"

    # -- reading --------------------------------------------------------------------------------------

    def get_leaf_id(self) -> str | None:
        return self.session.leaf

    def get_session_id(self) -> str:
        return self.session.id

    def get_session_file(self) -> str | None:
        """Return the file; None for a session in memory."""
        return self.session.file

    def get_entry(self, id: str) -> Entry | None:  # noqa: A002
        return self.session.entry(id) if id in self.session else None

    def get_branch(self, from_id: str | None = None) -> builtins.list[Entry]:
        """Return the entries from the root to this one (default: the leaf)."""
        return self.session.entries(self.session.path(from_id))

    def get_tree(self) -> builtins.list[SessionTreeNode]:
        """Return the roots; an entry whose parent is missing is a root."""
        labels, index = self.session.labels, self.session.index
        nodes = {
            entry.id: SessionTreeNode(entry, label=labels.get(entry.id)) for entry in self.session.entries()
        }
        for key, node in nodes.items():
            node.children = [nodes[child] for child in index.children(key)]
        return [nodes[root.id] for root in self.session.tree()]

    def get_children(self, parent_id: str | None) -> builtins.list[Entry]:
        """Return the children of an entry; the roots for None."""
        return self.session.entries(self.session.children(parent_id))

    def get_label(self, id: str) -> str | None:  # noqa: A002
        return self.session.labels.get(id)

    def build_session_context(self) -> Context:
        """Return messages, model, thinking level, mode and injected rules at the leaf."""
        return self.session.context()

    # -- the leaf -------------------------------------------------------------------------------------

    def branch(self, entry_id: str) -> None:
        """Move the leaf. Raises ValueError for an unknown id and for None: see :meth:`reset_leaf`."""
        self.session.branch(entry_id)

    def reset_leaf(self) -> None:
        """Move before the first entry; the next append is a new root."""
        self.session.reset()

    def branch_with_summary(
        self,
        branch_from_id: str | None,
        summary: str,
        details: Any = None,
        from_extension: bool | None = None,  # noqa: FBT001
    ) -> str:
        """Move the leaf and append a summary of the abandoned branch; None is recorded as ``root``."""
        return self.session.branch_with_summary(
            branch_from_id, summary, details=details, from_hook=from_extension
        )

    def create_branched_session(self, leaf_id: str) -> str | None:
        """Continue in a new session with the path to this entry; return its file, None in memory."""
        made = self.session.fork(leaf_id)
        self.session.close()
        self.session = made
        return made.file

    def new_session(
        self,
        options: Mapping[str, _Path | None] | _Path | None = None,
        *,
        parent_session: _Path | None = None,
    ) -> str | None:
        """Continue in a new, empty session and return its file.

        ``{"parentSession": file}``, ``file`` or ``parent_session=file`` links it to a parent. Other options
        raise TypeError.
        """
        if options is not None:
            parent_session = _parent_option(options)
        old = self.session
        self.session = type(old).create(
            old.cwd or None, store=old.store, format=old.format, parent_session=parent_session
        )
        old.close()
        return self.session.file

    # -- appending ------------------------------------------------------------------------------------

    def append_label_change(self, target_id: str, label: str | None = None) -> str:
        """Label an entry; None removes the label."""
        return self.session.append_label(target_id, label)

    def append_compaction(
        self, summary: str, first_kept_entry_id: str | None, tokens_before: int = 0, details: Any = None
    ) -> str:
        return self.session.append_compaction(summary, first_kept_entry_id, tokens_before, details=details)

    def append_custom_message_entry(
        self,
        custom_type: str,
        content: Any,
        display: bool = True,  # noqa: FBT001, FBT002
        details: Any = None,
    ) -> str:
        return self.session.append_custom_message(custom_type, content, display=display, details=details)

    @classmethod
    def continueRecent(cls, cwd: _Path, session_dir: _Path | None = None) -> Self:  # noqa: N802
        return cls.continue_recent(cwd, session_dir)

    @classmethod
    def inMemory(cls, cwd: _Path | None = None) -> Self:  # noqa: N802
        return cls.in_memory(cwd)

    getLeafId = get_leaf_id  # noqa: N815  oh-my-pi's spelling, as below
    getSessionId = get_session_id  # noqa: N815
    getSessionFile = get_session_file  # noqa: N815
    getEntry = get_entry  # noqa: N815
    getBranch = get_branch  # noqa: N815
    getTree = get_tree  # noqa: N815
    getChildren = get_children  # noqa: N815
    getLabel = get_label  # noqa: N815
    buildSessionContext = build_session_context  # noqa: N815
    resetLeaf = reset_leaf  # noqa: N815
    branchWithSummary = branch_with_summary  # noqa: N815
    createBranchedSession = create_branched_session  # noqa: N815
    newSession = new_session  # noqa: N815
    appendMessage = ManagerFacade.append_message  # noqa: N815
    appendLabelChange = append_label_change  # noqa: N815
    appendCompaction = append_compaction  # noqa: N815
    appendCustomMessageEntry = append_custom_message_entry  # noqa: N815


def _parent_option(options: Mapping[str, _Path | None] | _Path) -> _Path | None:
    """Return the parent that the options of a new session name."""
    if not isinstance(options, Mapping):
        return options
    if unknown := options.keys() - {"parentSession"}:
        raise InvalidType(f"unknown options of a new session: {', '.join(map(str, unknown))}")
    return options.get("parentSession")


class AgentSession:
    """``/tree`` and ``/branch`` for a manager. ``summarizer`` writes summaries; ``hooks`` are called."""

    def __init__(
        self,
        manager: SessionManager,
        *,
        summarizer: Callable[..., Any] | None = None,
        hooks: Any = None,
    ) -> None:
        self.manager = manager
        self._options: dict[str, Any] = {"summarizer": summarizer}
        if hooks is not None:
            self._options["hooks"] = hooks

    def navigate_tree(
        self,
        target_id: str,
        *,
        summarize: bool = False,
        abort: flows.AbortSignal | None = None,
    ) -> flows.NavigateResult:
        """Go to an entry of the same session. Raises NoSummarizer if ``summarize`` has no summarizer."""
        flow = flows.navigate(self.manager.session, target_id, summarize=summarize, abort=abort)
        return flows.run(flow, **self._options)

    def branch(self, entry_id: str) -> flows.ForkResult[Any]:
        """Continue before a user message in a new session; ``text`` is the message, for editing."""
        done = flows.run(flows.branch_to_new_session(self.manager.session, entry_id), **self._options)
        if done.session is not None:
            self.manager.session.close()
            self.manager.session = done.session
        return done

    navigateTree = navigate_tree  # noqa: N815

"""Operations that reshape a tree: named branches, graft, squash, undo and redo.

Every operation appends to the session, and Ctrl+Z undoes it. If one is refused, nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod

from branchline.actions.graft import GraftResult, graft, squash
from branchline.actions.named_branches import name_branch, named_branches
from branchline.actions.operations import Operation, operations, redo, undo
from branchline.actions.summary_model import SummaryModel
from branchline.context import milliseconds
from branchline.library import SessionRow
from branchline.session import Session
from branchline.tree import ROOT
from branchline.tui.screens.dialogs import InputDialog, SelectDialog
from branchline.tui.screens.entry_actions import UNDO, EntryActionsScreen
from branchline.views.browser.entry_menu import EntryFacts, MenuItem, refusal
from branchline.views.humanize import age, count
from branchline.views.operation_lines import entry_words, operation_words
from branchline.views.session_row import latest_first

__all__ = ["TreeOperationsScreen"]

_SQUASHED = "squashed; the original path stays in the tree; appended"


class TreeOperationsScreen(EntryActionsScreen):
    """Adds the tree operations to a list of entries."""

    def entry_facts(self, key: str) -> EntryFacts:
        marked = self._marked
        facts = super().entry_facts(key)
        if marked is None or marked == key:
            return facts._replace(marked="nothing" if marked is None else "this")
        first, last = self._in_order(marked, key)
        path = self.session.path(last)
        return facts._replace(
            marked="other",
            range_=first in path and last in path,
            on_path=first in (current := self.session.path()) and last in current,
        )

    def entry_actions(self) -> dict[str, Callable[[str], None]]:
        return {
            **super().entry_actions(),
            "name": self._name_branch,
            "mark": self._mark,
            "graft": lambda entry: self._graft(lambda: graft(self.session, entry)),
            "graft_marked": self._graft_marked,
            "graft_range": self._graft_range,
            "graft_from": self._graft_from,
            "squash": self._squash,
            "squash_written": self._squash_summed_up,
            "branches": lambda _entry: self.action_branches(),
            "log": lambda _entry: self.action_log(),
            "undo": lambda _entry: self.action_undo(),
            "redo": lambda _entry: self.action_redo(),
        }

    def _refused(self, what: str) -> bool:
        """Report why a session cannot record an operation; return whether it is refused."""
        transcript = self.session.transcript
        why = refusal(transcript, "branch") or refusal(transcript, "custom")
        if why is not None:
            self.tell(f"not {what}: {why}", wrong=True)
        return why is not None

    # -- marking --------------------------------------------------------------------------------------

    @property
    def _marked(self) -> str | None:
        marked = self.tree_state.marked
        return None if marked == ROOT else self.session.index.keys[marked]

    def _mark(self, key: str) -> None:
        position = self.session.index.position(key)
        state = self.tree_state
        state.marked = ROOT if state.marked == position else position
        self.list.refresh()
        if state.marked != ROOT:
            self.tell("marked; Enter on another entry offers what can be done with both, Esc unmarks it")

    def unmark(self) -> bool:
        """Remove the mark; return whether there was one."""
        if self.tree_state.marked == ROOT:
            return False
        self.tree_state.marked = ROOT
        self.list.refresh()
        return True

    def action_mark(self) -> None:
        if self.key is not None:
            self._mark(self.key)

    def _in_order(self, one: str, other: str) -> tuple[str, str]:
        """Return two entries, the earlier first."""
        position = self.session.index.position
        return (one, other) if position(one) <= position(other) else (other, one)

    # -- comparing ------------------------------------------------------------------------------------

    def compare_entry(self, key: str) -> None:
        marked = self._marked
        self.compare_with(self.session.leaf if marked is None or marked == key else marked, key)

    def action_compare(self) -> None:
        if self.key is not None:
            self.compare_entry(self.key)

    # -- named branches -------------------------------------------------------------------------------

    def action_name(self) -> None:
        if self.key is not None and not self._refused("named"):
            self._name_branch(self.key)

    def _name_branch(self, key: str) -> None:
        def named(name: str) -> None:
            async def write() -> str:
                branch = name_branch(self.session, name, key)
                self._stand()
                return f"the branch {branch.name!r} begins here, and the next message continues it; {UNDO}"

            self.attempt(write)

        self.ask(InputDialog("Name of the branch that begins here"), named)

    def action_branches(self) -> None:
        branches = named_branches(self.session)
        if not branches:
            self.tell("no branch has a name; F2 names one that begins here")
            return
        options = [
            MenuItem(
                branch.tip,
                branch.name,
                f"{self._age(branch.timestamp)}, {count(branch.entries, 'entry', 'entries')}, "
                f"ends at {self._described(branch.tip)}{', you are here' if branch.is_current else ''}",
            )
            for branch in branches
        ]
        self.ask(SelectDialog("Go to the end of which branch?", options), self._go_to)

    def _go_to(self, key: str) -> None:
        """Put the cursor on an entry."""
        if key not in self.session.index:
            return
        self.words = self.tree_state.words = ""
        self.tree_state.position = self.session.index.position(key)
        self.tree_state.search("")
        self.show_rows()

    # -- grafting and squashing -----------------------------------------------------------------------

    def _graft(self, work: Callable[[], GraftResult], done: str = "grafted") -> None:
        async def write() -> str:
            return self._grafted(work(), done)

        self.attempt(write)

    def _grafted(self, made: GraftResult, done: str) -> str:
        """Show the position after the appended entries, and describe them."""
        self.tree_state.marked = ROOT
        self._stand()
        left_out = "".join(f"; left out: {reason}" for reason in made.left_out)
        return f"{done} {count(len(made.entries), 'entry', 'entries')}{left_out}; {UNDO}"

    def _graft_marked(self, key: str) -> None:
        if (marked := self._marked) is not None:
            self._graft(lambda: graft(self.session, marked, onto=key))

    def _graft_range(self, key: str) -> None:
        if (part := self._range_to(key)) is not None:
            self._graft(lambda: graft(self.session, *part))

    def _graft_from(self, key: str) -> None:
        from branchline.tui.screens.turns import TurnPickerScreen  # noqa: PLC0415

        listed = self.branchline.browser.state.loaded.rows
        others = (row for row in listed.values() if row.problem is None and row.path != self.session.file)
        rows = sorted(others, key=latest_first)
        if not rows:
            self.tell("no other session is listed that a turn could come from")
            return
        by_name = {str(number): row for number, row in enumerate(rows)}

        def opened(other: Session) -> None:
            def picked(choice: tuple[str, str]) -> None:
                def work() -> GraftResult:
                    with other:
                        return graft(self.session, choice[1], source=other, onto=key)

                self._graft(work)

            self.ask(TurnPickerScreen(other), picked, other.close)

        options = [MenuItem(name, _title(row), self._about(row)) for name, row in by_name.items()]
        self.ask(
            SelectDialog("Graft a turn of which session?", options),
            lambda name: self.branchline.with_session(by_name[name], opened),
        )

    def _about(self, row: SessionRow) -> str:
        return f"{self.branchline.source.agent(row)}, {age(row.active_ms, self.branchline.now())}"

    def _squash(self, key: str) -> None:
        if (part := self._range_to(key)) is None:
            return
        self.ask(
            InputDialog("Summary of the range", hint="the range stays on its own branch"),
            lambda summary: self._graft(lambda: squash(self.session, *part, summary), _SQUASHED),
        )

    def _squash_summed_up(self, key: str) -> None:
        """Let the model write the summary, then squash the range."""
        part = self._range_to(key)

        def written(model: SummaryModel, focus: str) -> None:
            async def write() -> str:
                from branchline.conductor.summary_model import summarize_range  # noqa: PLC0415  it is heavy

                assert part is not None
                async with self.writing(f"{model.name} summarizes the range") as dialog:
                    summary = await summarize_range(
                        self.session, *part, model, dialog.told, focus=focus, abort=dialog.abort
                    )
                return self._grafted(squash(self.session, *part, summary), _SQUASHED)

            self.attempt(write)

        if part is not None:
            self.ask_focus("empty: the whole range", written)

    def _range_to(self, key: str) -> tuple[str, str] | None:
        """Return the mark and an entry, the earlier first; None without a mark."""
        return None if (marked := self._marked) is None else self._in_order(marked, key)

    # -- undoing --------------------------------------------------------------------------------------

    def _take_back(self, name: str, work: Callable[[Session], Operation]) -> None:
        past, other = {"undo": ("undid", "Alt+Z redoes it"), "redo": ("redid", UNDO)}[name]
        if self._refused("undone" if name == "undo" else "redone"):
            return

        async def write() -> str:
            operation = work(self.session)
            self._stand()
            return f"{past} {operation.verb}: {operation_words(operation, self._described)}; {other}"

        self.attempt(write)

    action_undo = partialmethod(_take_back, "undo", undo)
    action_redo = partialmethod(_take_back, "redo", redo)

    def action_log(self) -> None:
        done = operations(self.session)
        if not done:
            self.tell("no operations yet: this session has only messages")
            return
        options = [
            MenuItem(
                each.leaf_after or "",
                f"{each.verb} {operation_words(each, self._described)}",
                f"{self._age(each.timestamp)}{', undone' if each.undone else ''}",
            )
            for each in reversed(done)
        ]
        note = "Enter shows the position after it. In the tree, Ctrl+Z undoes and Alt+Z redoes."
        self.ask(SelectDialog("Operations, newest first", options, note=note), self._go_to)

    # -- words ----------------------------------------------------------------------------------------

    def _stand(self) -> None:
        """Put the cursor on the leaf and clear the search."""
        self.words = self.tree_state.words = ""
        if self.session.leaf is not None:
            self.tree_state.position = self.session.index.position(self.session.leaf)

    def _described(self, key: str) -> str:
        if key not in self.session.index:
            return key
        return entry_words(self.session.transcript, key)

    def _age(self, timestamp: str) -> str:
        moment = milliseconds(timestamp)
        return "?" if moment is None else age(moment, self.branchline.now())


def _title(row: SessionRow) -> str:
    return row.title or row.first_prompt or row.id

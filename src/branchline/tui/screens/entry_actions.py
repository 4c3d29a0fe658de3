"""Actions on an entry of a tree: go there, fork, label, copy, export, compare."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from branchline.actions.summary_model import NO_MODEL, SummaryModel
from branchline.errors import BranchlineError
from branchline.flows import NavigateResult, arun, fork, navigate
from branchline.session import Session
from branchline.tui.screens.base import ListScreen
from branchline.tui.screens.dialogs import InputDialog, SelectDialog
from branchline.tui.screens.full_entry import FullEntryScreen
from branchline.tui.screens.streaming_dialog import StreamingDialog
from branchline.tui.session_watcher import SessionWatcher
from branchline.views.browser.entry_menu import EntryFacts, entry_options, refusal
from branchline.views.browser.tree_cursor import TreeCursor
from branchline.views.entry_rows import copy_text

__all__ = ["UNDO", "EntryActionsScreen"]

UNDO = "Ctrl+Z undoes it"


class EntryActionsScreen(ListScreen):
    """The actions for the entry under the cursor; subclasses show the entries."""

    def __init__(self, session: Session, *, at: str | None = None) -> None:
        super().__init__()
        self.home = os.path.expanduser("~")
        self.living = SessionWatcher(session)
        self.tree_state = TreeCursor(session, at=at, home=self.home)
        self.acting = False
        """A flow works on the session in another thread; two at once would lose where it stands."""

    @property
    def session(self) -> Session:
        return self.tree_state.session

    def show_rows(self) -> None:
        """Show the rows as they are arranged now."""
        raise NotImplementedError

    @property
    def key(self) -> str | None:
        """The id of the entry under the cursor."""
        state = self.tree_state
        state.move_to(self.list.cursor)  # its message may still be on the way when the next key comes
        return state.key

    def action_choose(self) -> None:
        key = self.key
        if key is None:
            return
        actions = self.entry_actions()
        options = entry_options(self.session.transcript, self.entry_facts(key))
        self.ask(SelectDialog("This entry", options), lambda name: actions[name](key))

    def entry_facts(self, key: str) -> EntryFacts:
        """Return the facts that decide which actions an entry has."""
        index, model = self.session.index, self.branchline.summary_model
        return EntryFacts(
            prompt=index.roles[index.position(key)] == "user", model=None if model is None else model.name
        )

    def entry_actions(self) -> dict[str, Callable[[str], None]]:
        """Return the functions of the menu items for an entry, by name."""
        return {
            "navigate": self._navigate,
            "summary": self._navigate_with_summary,
            "written": self._navigate_summed_up,
            "before": lambda entry: self._fork(entry, before=True),
            "at": lambda entry: self._fork(entry, before=False),
            "label": self._label,
            "read": lambda _entry: self.action_transcript(),
            "whole": self._read_whole,
            "copy": lambda _entry: self.action_copy(),
            "export": self._export,
            "compare": self.compare_entry,
        }

    def attempt(self, work: Callable[[], Awaitable[str | None]]) -> None:
        """Run an action that may fail, and report the result."""

        async def attempt() -> None:
            self.acting = True
            try:
                words = await work()
            except (BranchlineError, OSError, ValueError) as problem:
                self.tell(str(problem), wrong=True)
                return
            finally:
                self.acting = False
            if words is not None:
                self.tell(words)
            self.tree_state.set_session(self.session)
            self.show_rows()

        self.run_worker(attempt(), exclusive=True, group="doing")

    def _navigate(self, key: str, summary: str | None = None) -> None:
        async def go() -> str:
            flow = navigate(self.session, key, summarize=summary is not None)
            words = None if summary is None else (lambda _request: summary)
            return self._moved(await arun(flow, hooks=self.branchline.hooks, summarizer=words))

        self.attempt(go)

    def _moved(self, done: NavigateResult) -> str:
        """Show the new position after navigating, and report the result."""
        if done.status != "done":
            return "you are already there" if done.status == "unchanged" else f"not moved: {done.reason}"
        self.words = self.tree_state.words = ""  # the new place may be none that the search finds
        if done.new_leaf is not None:
            self.tree_state.position = self.session.index.position(done.new_leaf)
        if done.text is not None:
            self.app.copy_to_clipboard(done.text.encode("utf-8", "replace").decode())
            return f"moved before this prompt; its text is on the clipboard; {UNDO}"
        return f"the next message continues here; {UNDO}"

    def _navigate_with_summary(self, key: str) -> None:
        def said(summary: str) -> None:
            if summary.strip():
                self._navigate(key, summary)

        self.ask(InputDialog("Summary of the abandoned branch"), said)

    def _navigate_summed_up(self, key: str) -> None:
        self.ask_focus(
            "empty: the whole branch",
            lambda model, focus: self.attempt(lambda: self._summed_up(key, model, focus)),
        )

    def ask_focus(self, hint: str, then: Callable[[SummaryModel, str], None]) -> None:
        """Ask for the focus of a generated summary; report it if no model is configured."""
        model = self.branchline.summary_model
        if model is None:
            self.tell(NO_MODEL, wrong=True)
            return
        self.ask(InputDialog("Focus of the summary?", hint=hint), lambda focus: then(model, focus))

    @asynccontextmanager
    async def writing(self, heading: str) -> AsyncIterator[StreamingDialog]:
        """Show the text that a model writes during a ``with`` block."""
        dialog = StreamingDialog(heading)
        await self.app.push_screen(dialog)
        try:
            yield dialog
        finally:
            dialog.end()

    async def _summed_up(self, key: str, model: SummaryModel, focus: str) -> str:
        from branchline.conductor.summary_model import open_summarizer  # noqa: PLC0415  models are heavy

        async with (
            self.writing(f"{model.name} summarizes the abandoned branch") as dialog,
            open_summarizer(model, dialog.told) as summarizer,
        ):
            flow = navigate(
                self.session,
                key,
                summarize=True,
                custom_instructions=focus.strip() or None,
                window=summarizer.window,
                abort=dialog.abort,
            )
            done = await arun(flow, hooks=self.branchline.hooks, summarizer=summarizer.write)
        return self._moved(done)

    def _fork(self, key: str, *, before: bool) -> None:
        async def make() -> str:
            flow = fork(self.session, key, position="before" if before else "at")
            done = await arun(flow, hooks=self.branchline.hooks)
            if done.session is None:
                return f"not forked: {done.reason}"
            with done.session as made:
                name, draft = made.id, made.is_draft
            self.branchline.browser.reload_when_shown()
            if draft:
                return f"forked into {name}, listed after its first reply"
            return f"forked into {name}"

        self.attempt(make)

    def action_label(self) -> None:
        if (why := refusal(self.session.transcript, "label")) is not None:
            self.tell(f"not labelled: {why}", wrong=True)
        elif self.key is not None:
            self._label(self.key)

    def _label(self, key: str) -> None:
        def named(label: str) -> None:
            async def write() -> str:
                self.session.append_label(key, label.strip() or None)
                return f"{'labelled' if label.strip() else 'label removed'}; {UNDO}"

            self.attempt(write)

        self.ask(
            InputDialog("Label of this entry", self.session.label(key) or "", hint="empty removes it"),
            named,
        )

    def action_copy(self) -> None:
        if self.key is not None:
            text = copy_text(self.session.entry(self.key))
            if text:
                self.copy(text, "text")
            else:
                self.tell("this entry has no text to copy")

    def _export(self, key: str) -> None:
        def named(path: str) -> None:
            if not path:
                return

            async def write() -> str:
                from branchline.actions.export import ExportRequest, export  # noqa: PLC0415

                return f"written: {export(self.session, path, ExportRequest(entry=key)).summary}"

            self.attempt(write)

        self.ask(InputDialog("Export to which file?", f"{self.session.id[:8]}-{key[:8]}.md"), named)

    def _read_whole(self, key: str) -> None:
        self.app.push_screen(FullEntryScreen(self.session, self.session.index.position(key), self.home))

    def action_transcript(self) -> None:
        if self.key is not None and self.session.file is not None:
            key = self.key
            self.branchline.reopen(
                self.session, lambda session: self.branchline.show_transcript(session, key)
            )

    def action_turns(self) -> None:
        from branchline.tui.screens.turns import TurnPickerScreen  # noqa: PLC0415

        def picked(choice: tuple[str, str]) -> None:
            what, key = choice
            if what == "fork":
                self._fork(key, before=True)
            else:
                self.tree_state.position = self.session.index.position(key)
                self.tree_state.set_session(self.session)
                self.show_rows()

        self.ask(TurnPickerScreen(self.session), picked)

    def compare_entry(self, key: str) -> None:
        """Show the path to an entry beside the current one."""
        self.compare_with(self.session.leaf, key)

    def compare_with(self, one: str | None, key: str) -> None:
        """Show the paths to two entries side by side."""
        if one is None:
            self.tell("no current branch to compare with")
            return
        self.branchline.reopen(
            self.session, lambda session: self.branchline.show_comparison(session, session, one, key)
        )

"""Installed plugins: loaded from entry points, ordered by pluggy, called by flows.

A plugin is a module, an object or a class (which is instantiated) with functions marked by :data:`hookimpl`.
Packages declare plugins in the entry point group ``branchline.plugins``. A plugin that cannot be loaded,
implements an unknown hook, raises or returns an invalid result is reported as a
:class:`~branchline.flows.PluginProblem`; the others continue.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import msgspec
import pluggy

from branchline.flows.hook_context import HookContext
from branchline.flows.hook_events import EntryAppendedEvent
from branchline.flows.hooks import HOOKS, HookSpecs, Implementation, PluginProblem
from branchline.flows.session_protocol import LiveSession
from branchline.plugins.packages import call_plugin

__all__ = ["GROUP", "Observable", "Plugin", "Plugins", "hookimpl"]

GROUP = "branchline.plugins"
"""The entry point group for plugins."""
_PROJECT = "branchline"
_MAX_PROBLEMS = 1000

hookimpl = pluggy.HookimplMarker(_PROJECT)
"""Marks a function as the implementation of the hook of the same name."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin in a list: its package and the hooks that it implements."""

    name: str
    package: str | None = None
    version: str | None = None
    hooks: tuple[str, ...] = ()


class Observable(LiveSession, Protocol):
    """A session that notifies observers of its appends."""

    def subscribe(
        self, observer: Callable[[str], object], /, *, on_problem: Callable[[Exception], object]
    ) -> Callable[[], None]: ...


class Plugins:
    """The plugins of a process, for ``hooks=`` of :func:`branchline.flows.run`."""

    def __init__(self, *, on_problem: Callable[[PluginProblem], object] | None = None) -> None:
        self._manager = _Manager(_PROJECT)
        self._manager.add_hookspecs(HookSpecs)
        self._on_problem = on_problem
        self._installed: dict[str, Plugin] = {}
        self._implementations: dict[str, list[Implementation]] = {}
        self.problems: list[PluginProblem] = []
        """The problems so far, newest last; at most the last thousand are kept."""

    @classmethod
    def load(
        cls, *, without: Collection[str] = (), on_problem: Callable[[PluginProblem], object] | None = None
    ) -> Plugins:
        """Load the installed plugins, except those named in ``without``."""
        plugins = cls(on_problem=on_problem)
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            if point.name not in without:
                plugins._load_entry_point(point)
        return plugins

    @property
    def installed(self) -> list[Plugin]:
        """The registered plugins, in registration order."""
        return list(self._installed.values())

    def register(self, plugin: object, name: str) -> bool:
        """Register a plugin object; return whether that succeeded."""
        return self._register(plugin, Plugin(name=name))

    def attach(self, session: Observable) -> Callable[[], None]:
        """Call ``entry_appended`` for everything this session appends; return a function that stops it."""
        context = HookContext(session, None, leave="note")
        undo = [
            session.subscribe(
                _observer(session, implementation.call, context),
                on_problem=partial(self._failed_append, implementation.plugin),
            )
            for implementation in self.implementations("entry_appended")
        ]

        def stop() -> None:
            for unsubscribe in undo:
                unsubscribe()

        return stop

    # -- the Hooks protocol ---------------------------------------------------------------------------

    def implementations(self, hook: str, /) -> Sequence[Implementation]:
        """Return the functions for a hook in pluggy's order: last registered, first called."""
        return self._implementations.get(hook, ())

    def report(self, problem: PluginProblem, /) -> None:
        """Record a problem and pass it to ``on_problem``."""
        self.problems.append(problem)
        del self.problems[:-_MAX_PROBLEMS]
        if self._on_problem is not None:
            self._on_problem(problem)

    # -- inside ---------------------------------------------------------------------------------------

    def _load_entry_point(self, point: EntryPoint) -> None:
        """Load and register the plugin of an entry point."""
        try:
            plugin = call_plugin(point.load)
        except Exception as problem:  # noqa: BLE001  third-party code
            self._failed(point.name, f"it cannot be loaded: {_error_text(problem)}")
            return
        dist = point.dist
        about = Plugin(
            name=point.name,
            package=None if dist is None else dist.name,
            version=None if dist is None else dist.version,
        )
        self._register(plugin, about)

    def _register(self, plugin: object, about: Plugin) -> bool:
        name = about.name
        if name in self._installed:
            self._failed(name, "another plugin has the same name; not registered")
            return False
        try:
            found = call_plugin(plugin) if inspect.isclass(plugin) else plugin
            call_plugin(self._manager.register, found, name)
        except Exception as problem:  # noqa: BLE001
            with contextlib.suppress(Exception):
                self._manager.unregister(name=name)
            self._failed(name, f"it cannot be added: {_error_text(problem)}")
            return False
        self._implementations = {
            hook: [
                Implementation(impl.plugin_name, _caller(impl))
                for impl in reversed(getattr(self._manager.hook, hook).get_hookimpls())
                if _usage_problem(impl, hook) is None
            ]
            for hook in HOOKS
        }
        hooks = [
            hook for hook, found in self._implementations.items() if any(one.plugin == name for one in found)
        ]
        self._installed[name] = msgspec.structs.replace(about, hooks=tuple(hooks))
        self._report_unusable(name)
        return True

    def _report_unusable(self, name: str) -> None:
        """Report implementations that will never be called."""
        callers = self._manager.get_hookcallers(self._manager.get_plugin(name)) or []
        for caller in callers:
            if caller.name not in HOOKS:
                close = difflib.get_close_matches(caller.name, HOOKS, n=1)
                hint = f"; did it mean {close[0]}?" if close else ""
                self._failed(name, f"unknown hook {caller.name}{hint}", caller.name)
                continue
            for impl in caller.get_hookimpls():
                if impl.plugin_name == name and (why := _usage_problem(impl, caller.name)):
                    self._failed(name, why, caller.name)

    def _failed_append(self, plugin: str, problem: Exception) -> None:
        self._failed(plugin, _error_text(problem), "entry_appended")

    def _failed(self, plugin: str, message: str, hook: str = "") -> None:
        self.report(PluginProblem(plugin=plugin, hook=hook, message=message))


class _Manager(pluggy.PluginManager):
    """Accepts :class:`HookSpecs` without pluggy's markers."""

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> pluggy.HookspecOpts | None:
        if module_or_class is not HookSpecs or name not in HOOKS:
            return None
        return pluggy.HookspecOpts(
            firstresult=False, historic=False, warn_on_impl=None, warn_on_impl_args=None
        )


def _usage_problem(impl: pluggy.HookImpl, hook: str) -> str | None:
    if impl.hookwrapper or impl.wrapper:
        return "hook wrappers are not called; implement the hook itself"
    if hook == "entry_appended" and inspect.iscoroutinefunction(impl.function):
        return "it runs during an append and cannot be awaited; use a plain function"
    return None


def _caller(impl: pluggy.HookImpl) -> Callable[[Any, Any], Any]:
    """Wrap an implementation: pass only the arguments that it names, and convert SystemExit to an error."""
    names, function = impl.argnames, impl.function

    def call(event: Any, context: Any) -> Any:
        given = {"event": event, "context": context}
        try:
            return function(*[given[name] for name in names])
        except SystemExit as problem:
            raise RuntimeError("it called sys.exit(), which plugins may not do") from problem

    return call


def _observer(
    session: Observable, call: Callable[[Any, Any], Any], context: HookContext
) -> Callable[[str], None]:
    def observe(entry: str) -> None:
        tree = session.index
        position = tree.position(entry)
        event = EntryAppendedEvent(
            entry=entry, type=tree.types[position], role=tree.roles[position], parent=tree.parent(entry)
        )
        answer = call(event, context)
        if inspect.iscoroutine(answer):
            answer.close()
            raise TypeError("it returned a coroutine, which an append cannot await")

    return observe


def _error_text(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__

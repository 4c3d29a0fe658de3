"""Installed plugins: found by their entry points, ordered by pluggy, called by flows.

A plugin is anything with functions that :data:`hookimpl` marks: a module, an object, or a class, of which
one object is made. Packages name theirs in the entry point group ``branchline.plugins``. A plugin that
cannot be loaded, names a hook that there is not, raises or answers with the wrong thing is a
:class:`~branchline.flows.PluginProblem` with its name on it; everything else goes on.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import msgspec
import pluggy

from branchline.flows.hook_context import HookContext
from branchline.flows.hook_events import EntryAppendedEvent
from branchline.flows.hooks import HOOKS, HookSpecs, Implementation, PluginProblem
from branchline.flows.session_protocol import LiveSession

__all__ = ["GROUP", "Observable", "Plugin", "Plugins", "hookimpl"]

GROUP = "branchline.plugins"
"""The entry point group in which packages name their plugins."""
_PROJECT = "branchline"
_REMEMBERED = 1000

hookimpl = pluggy.HookimplMarker(_PROJECT)
"""Marks a function as the implementation of the hook that has its name."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin as it is listed: where it comes from and which hooks it implements."""

    name: str
    package: str | None = None
    version: str | None = None
    hooks: tuple[str, ...] = ()


class Observable(LiveSession, Protocol):
    """A session that says what it appends."""

    def subscribe(
        self, observer: Callable[[str], object], /, *, on_problem: Callable[[Exception], object]
    ) -> Callable[[], None]: ...


class Plugins:
    """The plugins of a program, in the form in which :func:`branchline.flows.run` takes them (``hooks=``)."""

    def __init__(self, *, on_problem: Callable[[PluginProblem], object] | None = None) -> None:
        self._manager = _Manager(_PROJECT)
        self._manager.add_hookspecs(HookSpecs)
        self._on_problem = on_problem
        self._installed: dict[str, Plugin] = {}
        self._implementations: dict[str, list[Implementation]] = {}
        self.problems: list[PluginProblem] = []
        """What went wrong so far, the newest last; of more than a thousand the oldest are forgotten."""

    @classmethod
    def load(
        cls, *, without: Collection[str] = (), on_problem: Callable[[PluginProblem], object] | None = None
    ) -> Plugins:
        """The plugins that are installed, but for those that are named in ``without``."""
        plugins = cls(on_problem=on_problem)
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            if point.name not in without:
                plugins._take(point)
        return plugins

    @property
    def installed(self) -> list[Plugin]:
        """The plugins that are there, in the order in which they were added."""
        return list(self._installed.values())

    def register(self, plugin: object, name: str) -> bool:
        """Add a plugin that the program has itself; whether it could be added."""
        return self._register(plugin, Plugin(name=name))

    def attach(self, session: Observable) -> Callable[[], None]:
        """Call ``entry_appended`` for all that this session appends from now on; gives back how to stop."""
        context = HookContext(session, None, leave="note")
        undo = [
            session.subscribe(
                _observer(session, implementation.call, context),
                on_problem=_reporter(self, implementation.plugin),
            )
            for implementation in self.implementations("entry_appended")
        ]

        def stop() -> None:
            for unsubscribe in undo:
                unsubscribe()

        return stop

    # -- what flows ask -------------------------------------------------------------------------------

    def implementations(self, hook: str, /) -> Sequence[Implementation]:
        """The functions for a hook in pluggy's order: who was added last is asked first."""
        return self._implementations.get(hook, ())

    def report(self, problem: PluginProblem, /) -> None:
        """Take note of a problem, and say it to whoever wants to hear."""
        self.problems.append(problem)
        del self.problems[:-_REMEMBERED]
        if self._on_problem is not None:
            self._on_problem(problem)

    # -- inside ---------------------------------------------------------------------------------------

    def _take(self, point: EntryPoint) -> None:
        """Load what a package names."""
        try:
            plugin = point.load()
        except (Exception, SystemExit) as problem:  # noqa: BLE001  somebody else's code
            self._failed(point.name, f"it cannot be loaded: {_words(problem)}")
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
            found = plugin() if inspect.isclass(plugin) else plugin
            self._manager.register(found, name)
        except (Exception, SystemExit) as problem:  # noqa: BLE001
            with contextlib.suppress(Exception):
                self._manager.unregister(name=name)
            self._failed(name, f"it cannot be added: {_words(problem)}")
            return False
        hooks = tuple(hook for hook in HOOKS if any(True for _ in self._usable(name, hook)))
        self._installed[name] = msgspec.structs.replace(about, hooks=hooks)
        self._implementations = {
            hook: [
                Implementation(impl.plugin_name, _caller(impl))
                for impl in reversed(getattr(self._manager.hook, hook).get_hookimpls())
                if _why_unusable(impl, hook) is None
            ]
            for hook in HOOKS
        }
        self._report_mistakes(name)
        return True

    def _usable(self, name: str, hook: str) -> Iterator[pluggy.HookImpl]:
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin_name == name and _why_unusable(impl, hook) is None:
                yield impl

    def _report_mistakes(self, name: str) -> None:
        """What a plugin says that nobody will listen to."""
        callers = self._manager.get_hookcallers(self._manager.get_plugin(name)) or []
        for caller in callers:
            if caller.name not in HOOKS:
                close = difflib.get_close_matches(caller.name, HOOKS, n=1)
                hint = f"; did it mean {close[0]}?" if close else ""
                self._failed(name, f"unknown hook {caller.name}{hint}", caller.name)
                continue
            for impl in caller.get_hookimpls():
                if impl.plugin_name == name and (why := _why_unusable(impl, caller.name)):
                    self._failed(name, why, caller.name)

    def _failed(self, plugin: str, message: str, hook: str = "") -> None:
        self.report(PluginProblem(plugin=plugin, hook=hook, message=message))


class _Manager(pluggy.PluginManager):
    """Takes our plain specifications as they are, without pluggy's marks on them."""

    def parse_hookspec_opts(self, module_or_class: Any, name: str) -> pluggy.HookspecOpts | None:
        if module_or_class is not HookSpecs or name not in HOOKS:
            return None
        return pluggy.HookspecOpts(
            firstresult=False, historic=False, warn_on_impl=None, warn_on_impl_args=None
        )


def _why_unusable(impl: pluggy.HookImpl, hook: str) -> str | None:
    if impl.hookwrapper or impl.wrapper:
        return "hook wrappers are not called; implement the hook itself"
    if hook == "entry_appended" and inspect.iscoroutinefunction(impl.function):
        return "it runs during an append and cannot be awaited; use a plain function"
    return None


def _caller(impl: pluggy.HookImpl) -> Callable[[Any, Any], Any]:
    """The function, called with those arguments that it names. It fails if it wants to end the program."""
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
    def told(entry: str) -> None:
        tree = session.index
        position = tree.position(entry)
        event = EntryAppendedEvent(
            entry=entry, type=tree.types[position], role=tree.roles[position], parent=tree.parent(entry)
        )
        answer = call(event, context)
        if inspect.iscoroutine(answer):
            answer.close()
            raise TypeError("it returned a coroutine, which an append cannot await")

    return told


def _reporter(plugins: Plugins, plugin: str) -> Callable[[Exception], None]:
    def report(problem: Exception) -> None:
        plugins.report(PluginProblem(plugin=plugin, hook="entry_appended", message=_words(problem)))

    return report


def _words(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__

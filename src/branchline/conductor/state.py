"""The state of a conversation: session, model, thinking level and usage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from branchline.conductor.permissions import ALLOW_ALL, ToolPermissions
from branchline.conductor.policy import Policy
from branchline.conductor.usage_meter import UsageMeter
from branchline.context import Context, IncrementalContext, ModelRef, UsageTotals, request_tokens
from branchline.context.prices import PriceList
from branchline.errors import ModelError, NotSupported, UnknownModel
from branchline.flows import NO_HOOKS, Hooks
from branchline.models import Model, Tool, model_by_reference, model_name, request_overhead
from branchline.plugins import Plugins
from branchline.session import Session
from branchline.tree import ROOT

__all__ = ["ConversationState", "reference_to"]


class ConversationState:
    """The read side of a conductor, and the transitions when its session or path changes."""

    def __init__(
        self,
        session: Session,
        model: Model | None = None,
        *,
        tools: Sequence[Tool] = (),
        hooks: Hooks = NO_HOOKS,
        policy: Policy | None = None,
        permissions: ToolPermissions = ALLOW_ALL,
        find_model: Callable[[ModelRef], Model] = model_by_reference,
        prices: PriceList | None = None,
    ) -> None:
        self.tools: Sequence[Tool] = tools
        self.policy = policy or Policy()
        self.permissions = permissions
        self.hooks = hooks
        self._find_model = find_model
        self._prices = prices
        self._model: Model | None = None
        self._model_problem: str | None = None
        self._models: list[Model] = []  # all models used, closed at the end
        self._detach: Callable[[], None] | None = None
        self._use(session)
        if model is not None:
            self._take_model(model)
        self._follow_path(keep_model=model is not None)

    # -- reading --------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The current session."""
        return self._session

    @property
    def model(self) -> Model | None:
        """The model of the next request."""
        return self._model

    @property
    def model_problem(self) -> str | None:
        """Why the model recorded on the path is unavailable; None if it is available."""
        return self._model_problem

    @property
    def thinking(self) -> str:
        """The thinking level of the model."""
        return self._thinking

    @property
    def usage(self) -> UsageTotals:
        """Tokens and cost of everything in the session; estimated where there are ``prices``."""
        return self._meter.read()

    @property
    def context_window(self) -> int | None:
        """The context window of the model in tokens; None if unknown."""
        return self.policy.context_window or (None if self._model is None else self._model.context_window)

    @property
    def context_tokens(self) -> int | float:
        """The tokens of the next request: the usage reported last, plus an estimate of the rest."""
        model = None if self._model is None else reference_to(self._model)
        return request_tokens(self.context(), model, overhead=self.request_overhead)

    @property
    def request_overhead(self) -> int:
        """The estimated tokens of the system prompt and the tools, which are part of every request."""
        return request_overhead(self.policy.system_prompt, self.tools)

    def context(self) -> Context:
        """Return the model context: the same as ``session.context()``, but built incrementally."""
        session = self._session
        position = ROOT if session.leaf is None else session.index.position(session.leaf)
        regular = session.transcript.reading.linker.is_regular
        return self._incremental.at(session.transcript, position, settled=regular)

    def required_model(self) -> Model:
        """Return the model. Raises UnknownModel if there is none."""
        if self._model is None:
            raise UnknownModel(
                f"no model: {self._model_problem or 'none configured'}; choose one, for example offline:echo"
            )
        return self._model

    def __repr__(self) -> str:
        name = "no model" if self._model is None else model_name(self._model)
        return f"<{type(self).__name__} of {self._session.id} with {name}>"

    # -- changing sessions ----------------------------------------------------------------------------

    def _use(self, session: Session) -> None:
        self._session = session
        self._incremental = IncrementalContext()
        self._meter = UsageMeter(session, self._prices)
        self._reported_appends = session.foreign_appends
        self._thinking = "off"
        if isinstance(self.hooks, Plugins):
            self._detach = self.hooks.attach(session)

    def _leave(self) -> None:
        if self._detach is not None:
            self._detach()
            self._detach = None
        self._session.close()

    def go_on_in(self, session: Session) -> None:
        """Continue in a fork; model and thinking level stay the same."""
        model, thinking = self._model, self._thinking
        self._switch_to(session)
        if model is not None:
            self._take_model(model)
        self._thinking = thinking

    def _switch_to(self, session: Session | None) -> None:
        """Continue in another session and adopt its model; None does nothing."""
        if session is not None and session is not self._session:
            self._leave()
            self._use(session)
            self._follow_path()

    @property
    def can_branch(self) -> bool:
        """Whether the session format has branches; without them, the conversation forks."""
        return "branch" not in self._session.transcript.format.traits.unsupported

    def _follow_path(self, *, keep_model: bool = False) -> None:
        """Adopt the model and thinking level recorded on the path, if any."""
        if self._session.leaf is None:
            return
        context = self.context()
        self._thinking = context.thinking_level
        wanted = context.model
        if keep_model or wanted is None or (self._model is not None and wanted == reference_to(self._model)):
            return
        known = next((model for model in reversed(self._models) if reference_to(model) == wanted), None)
        try:
            self._take_model(known or self._find_model(wanted))
        except ModelError as problem:
            self._model_problem = str(problem)

    def _take_model(self, model: Model) -> None:
        self._model, self._model_problem = model, None
        if not any(model is known for known in self._models):
            self._models.append(model)

    def _record_choices(self) -> None:
        """Record the model and thinking level if the path has others.

        A format that cannot hold one of them is left unchanged.
        """
        context = self.context()
        if self._model is not None and (chosen := reference_to(self._model)) != context.model:
            with suppress(NotSupported):
                self._session.append_model_change(chosen.provider, chosen.id)
        if self._thinking != context.thinking_level:
            with suppress(NotSupported):
                self._session.append_thinking_level_change(self._thinking)


def reference_to(model: Model) -> ModelRef:
    """Return the reference under which sessions record a model."""
    return ModelRef(provider=model.provider, id=model.id)

"""Only its own adapter imports a framework; a missing one is reported with its extra."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

ADAPTERS = {
    "openai_agents": ("agents", "openai-agents"),
    "langgraph": ("langgraph", "langgraph"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "adk": ("google", "adk"),
    "agent_framework": ("agent_framework", "agent-framework"),
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_missing_framework_is_named_with_its_extra(name, monkeypatch):
    package, extra = ADAPTERS[name]
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"branchline.integrations.{name}", raising=False)

    with pytest.raises(ImportError, match=rf"pip install '\.\[{extra}\]'"):
        importlib.import_module(f"branchline.integrations.{name}")


def test_the_package_of_adapters_imports_no_framework():
    code = (
        "import sys, branchline, branchline.integrations\n"
        "print(sorted({'agents', 'langgraph', 'pydantic_ai', 'google', 'agent_framework', 'psycopg', 'mcp'}"
        " & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"

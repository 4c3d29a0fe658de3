"""Write docs/reference/import-graph.md, the imports between packages, and print the size of each package."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "branchline"
PAGE = ROOT / "docs" / "reference" / "import-graph.md"
INTRODUCTION = """\
# Import graph

Which packages of `branchline` import which others. Imports inside functions and `TYPE_CHECKING` blocks count.
[CONTRIBUTING](../../CONTRIBUTING.md) says what each package is for; import-linter (`make lint`) checks that a
lower layer never imports a higher one. The two exceptions are the methods of `Session` and `SessionLibrary`
that call a use case when they are called ([decision 14](../decisions/0014-actions.md)).

`python scripts/import_graph.py` writes this page again, and prints how many lines each package has.

| package | imports |
|---|---|
"""


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    for package, paths in _packages().items():
        lines = sum(path.read_bytes().count(b"\n") for path in paths)
        sys.stdout.write(f"{lines:7,} {package}\n")


def page() -> str:
    """Return the page for the current sources."""
    files = _packages()
    rows = []
    for package, paths in files.items():
        imported = {name for path in paths for name in _imports(path)} & files.keys() - {package}
        rows.append(f"| `{package}` | {', '.join(sorted(imported))} |\n")
    return INTRODUCTION + "".join(rows)


def _packages() -> dict[str, list[Path]]:
    """Return the files of each package and top-level module."""
    files: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py"), key=_package):
        files.setdefault(_package(path), []).append(path)
    return files


def _package(path: Path) -> str:
    """Return the package or top-level module of a file; for ``branchline`` itself, ``branchline``."""
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "branchline" if first == "__init__" else first


def _imports(path: Path) -> Iterator[str]:
    for node in _statements(path):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            module = node.module.split(".")
            if module == ["branchline"]:
                yield from (alias.name for alias in node.names)
            elif module[0] == "branchline":
                yield module[1]
        elif isinstance(node, ast.Import):
            yield from (
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("branchline.")
            )


def _statements(path: Path) -> Iterator[ast.AST]:
    """Yield every statement of a module, without walking expressions."""
    waiting: list[ast.AST] = [ast.parse(path.read_bytes())]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found = getattr(node, part, ())
            waiting += found if isinstance(found, list) else ()


if __name__ == "__main__":
    main()

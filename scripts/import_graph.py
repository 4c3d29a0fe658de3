"""Write docs/reference/import-graph.md: the size of each package and the packages that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "branchline"
PAGE = ROOT / "docs" / "reference" / "import-graph.md"
INTRODUCTION = """\
# Import graph

Which packages of `branchline` import which others, and how many lines each has. Imports inside functions and
`TYPE_CHECKING` blocks count. [CONTRIBUTING](../../CONTRIBUTING.md) says what each package is for;
import-linter (`make lint`) checks that a lower layer never imports a higher one. The two exceptions are the
methods of `Session` and `SessionLibrary` that call a use case when they are called
([decision 14](../decisions/0014-actions.md)).

`python scripts/import_graph.py` writes this page again.

| package | lines | imports |
|---|---:|---|
"""


def main() -> None:
    files: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        files.setdefault(_package(path), []).append(path)
    known = set(files)
    rows = []
    for package, paths in sorted(files.items()):
        imported = sorted({name for path in paths for name in _imports(path)} & known - {package})
        lines = sum(path.read_bytes().count(b"\n") for path in paths)
        rows.append(f"| `{package}` | {lines:,} | {', '.join(imported)} |\n")
    PAGE.write_text(INTRODUCTION + "".join(rows), encoding="utf-8")


def _package(path: Path) -> str:
    """The package or top-level module of a file; that of ``branchline`` itself is ``branchline``."""
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "branchline" if first == "__init__" else first


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
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


if __name__ == "__main__":
    main()

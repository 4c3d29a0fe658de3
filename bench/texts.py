"""Texts as they stand in an agent's transcript, drawn from a seed.

Prose for people and thoughts, code and command output for tools: newlines, quotes and backslashes that JSON
must escape, a little that is not ASCII, and lengths that follow a log-normal law, as real ones do.
"""

from __future__ import annotations

from random import Random

WORDS = """
the session tree keeps every branch and a leaf marks where we are so that reading the log again gives the same
path as before while tests check each case twice and report what changed in the parser when a line is torn or
missing because another writer stopped in the middle of its work
""".split()  # noqa: SIM905 - a sentence reads better than a list of its words
CODE = (
    "def load_{0}(path: str, *, limit: int = {1}) -> dict[str, int]:",
    '    """Return the {0} of `path`; never more than {1}."""',
    '    if not path.endswith("\\\\{0}"):',
    '        raise ValueError(f"not a {0}: {{path!r}}\\n\\t(line {1})")',
    "    return {{name: len(value) for name, value in table['{0}'].items() if value != \"\"}}",
    '\tconst {0} = await fetch(`/api/{0}/${{id}}`, {{ headers: {{ "x-{0}": "{1}" }} }});',
    "{1}:src/{0}/index.ts(14,7): error TS2345: Argument of type '\"{0}\"' is not assignable.",
    "-rw-r--r--  1 dev dev {1:>9} Nov 14 09:{2:02d} C:\\\\Users\\\\dev\\\\{0}.py",
    '    assert {0}({1}) == {2}, "{0}\\\\d+ should match"  # see tests/test_{0}.py',
    "",
    "        # {0}: {1} entries, {2} of them labelled",
)
FOREIGN = (
    "Größe geändert → gespeichert ✓",
    "日本語のコメント: 枝を選ぶ",
    "naïve café, résumé",
    "🌿 branch 🍃 leaf",
)


class Texts:
    def __init__(self, random: Random) -> None:
        self.random = random

    def length(self, median: int, *, spread: float = 0.8) -> int:
        return int(median * self.random.lognormvariate(0, spread))

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(WORDS, k=count))

    def file(self) -> str:
        return f"src/{self.random.choice(WORDS)}/{self.random.choice(WORDS)}.py"

    def prose(self, length: int) -> str:
        """Sentences and paragraphs of about this many characters, at least one sentence."""
        parts: list[str] = []
        while length > 0 or not parts:
            sentence = self.words(self.random.randrange(5, 16)).capitalize()
            if self.random.random() < 0.02:
                sentence += f" ({self.random.choice(FOREIGN)})"
            parts.append(sentence + self.random.choice((". ", ". ", ".\n\n", ': "as before".\n')))
            length -= len(parts[-1])
        return "".join(parts)

    def code(self, length: int) -> str:
        """Lines of code and command output of about this many characters."""
        lines: list[str] = []
        while length > 0:
            word, number, small = self.random.choice(WORDS), self.random.randrange(99_999), len(lines) % 60
            line = self.random.choice(CODE).format(word, number, small)
            if self.random.random() < 0.002:
                line += "  # " + self.random.choice(FOREIGN)
            lines.append(line)
            length -= len(line) + 1
        return "\n".join(lines)

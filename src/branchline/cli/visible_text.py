"""Show control characters and invisible characters in the input line.

Only the display changes, not the edited text.
"""

from __future__ import annotations

from bisect import bisect_right

from prompt_toolkit.formatted_text import StyleAndTextTuples, fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

from branchline.views.text import safe

__all__ = ["SafeText"]


class SafeText(Processor):
    """Shows control characters, and characters that are invisible or change the direction, by name."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        text = fragment_list_to_text(fragments)
        if safe(text) == text:
            return Transformation(fragments)
        shown: StyleAndTextTuples = []
        starts, column = [0], 0
        for style, character, *_ in explode_text_fragments(fragments):
            seen = safe(character)
            shown.append((style, seen))
            column += len(seen)
            starts.append(column)
        return Transformation(
            shown,
            source_to_display=lambda place: starts[min(place, len(starts) - 1)],
            display_to_source=lambda place: max(0, bisect_right(starts, place) - 1),
        )

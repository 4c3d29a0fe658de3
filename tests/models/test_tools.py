"""Functions as tools, and the results of failed calls."""

import asyncio

import pytest

from branchline.entries import Image, Text, ToolCall
from branchline.models import COUNT_WORDS, call_tool, tool


def called(made, **arguments):
    return asyncio.run(call_tool(made, ToolCall(id="c", name="any", arguments=arguments)))


def test_the_schema_of_a_tool_comes_from_its_function():
    assert COUNT_WORDS.name == "count_words"
    assert COUNT_WORDS.description == "Count the words, lines and characters of a text."
    assert COUNT_WORDS.parameters == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    }


def test_parameters_with_a_default_may_be_left_out():
    def greet(name: str, times: int = 2) -> str:
        return f"hello {name} " * times

    made = tool(greet)

    assert made.parameters["required"] == ["name"]
    assert called(made, name="you").content == (Text(text="hello you hello you "),)
    assert called(made, name="you", times=1).content == (Text(text="hello you "),)


def test_a_value_becomes_text():
    result = called(COUNT_WORDS, text="a b\nc")

    assert result.content == (Text(text='{"words": 3, "lines": 2, "characters": 5}'),)
    assert result.is_error is False


def test_a_coroutine_function_is_awaited():
    async def later(text: str) -> str:
        await asyncio.sleep(0)
        return text.upper()

    assert called(tool(later), text="x").content == (Text(text="X"),)


def test_pictures_stay_pictures():
    def draw() -> list[object]:
        return [Text(text="here"), Image(data="aGk=", mime_type="image/png")]

    assert called(tool(draw)).content == (Text(text="here"), Image(data="aGk=", mime_type="image/png"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "missing required field `text`"),
        ({"text": 5}, "Expected `str`, got `int`"),
        ({"text": "x", "more": 1}, "unknown field `more`"),
    ],
)
def test_wrong_arguments_are_told_to_the_model(arguments, told):
    result = called(COUNT_WORDS, **arguments)

    assert result.is_error is True
    assert told in result.content[0].text


def test_what_a_tool_raises_is_told_to_the_model():
    def divide(number: int) -> float:
        return 1 / number

    result = called(tool(divide), number=0)

    assert result.is_error is True
    assert result.content == (Text(text="ZeroDivisionError: division by zero"),)


def test_a_tool_that_does_not_exist_is_a_result_too():
    result = called(None)

    assert result.is_error is True
    assert result.content == (Text(text="Unknown tool: any."),)


def test_nothing_to_say_is_said():
    assert called(tool(lambda: None, name="quiet")).content == (Text(text="(no output)"),)


def test_a_function_that_takes_anything_cannot_be_a_tool():
    def anything(*values: str) -> None:
        raise NotImplementedError

    with pytest.raises(TypeError, match="must have names"):
        tool(anything)

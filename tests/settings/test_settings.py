"""The settings file: loading never fails, and edits preserve everything else."""

from __future__ import annotations

import os
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.settings import (
    ProviderSettings,
    Settings,
    describe_setting,
    load,
    names,
    parse_value,
    settings_path,
    template,
    toml_text,
)
from branchline.settings.toml_edit import remove_value, set_value


@pytest.fixture
def read(tmp_path):
    """Load a file with this text in it."""

    def call(text: str | bytes, **environment: str):
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load({"BRANCHLINE_CONFIG": str(path), **environment})

    return call


# -- reading ----------------------------------------------------------------------------------------------


def test_without_a_file_every_setting_has_its_default(tmp_path):
    loaded = load({"BRANCHLINE_CONFIG": str(tmp_path / "none.toml")})

    assert loaded.settings == Settings()
    assert not loaded.exists
    assert set(loaded.sources.values()) == {"default"}
    assert loaded.findings == ()


def test_the_file_overrules_defaults_and_the_environment_overrules_the_file(read):
    loaded = read('theme = "light"\n\ncolor = "never"\n', BRANCHLINE_COLOR="always", BRANCHLINE_MOUSE="no")

    assert (loaded.settings.theme, loaded.settings.color, loaded.settings.mouse) == ("light", "always", False)
    assert loaded.sources["theme"] == "file"
    assert loaded.sources["color"] == "environment"
    assert loaded.sources["plain"] == "default"
    assert loaded.lines == {"theme": 1, "color": 3}


def test_an_unknown_name_is_told_with_its_line_and_the_nearest_name(read):
    loaded = read('# mine\nthem = "dark"\n')

    (finding,) = loaded.findings
    assert finding.line == 2
    assert finding.message == "unknown setting 'them'; did you mean theme?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('theme = "pink"', 'theme must be auto, dark or light, not "pink"'),
        ("theme = 3", "theme must be auto, dark or light, not 3"),
        ("plain = 1", "plain must be true or false, not 1"),
        ("keep_recent_tokens = -1", "keep_recent_tokens must be a whole number of at least 0, not -1"),
        (
            'keep_recent_tokens = "many"',
            'keep_recent_tokens must be a whole number of at least 0, not "many"',
        ),
        ("pins = [1]", "pins must be a list of strings, not [1]"),
        ("model = 2026-01-05", 'model must be a text, not "2026-01-05"'),
        ("[model]\nx = 1", 'model must be a text, not {"x" = 1}'),
        ("providers = 3", "providers must be a table for each of them, as [providers.NAME], not 3"),
        ("[providers.x]\nmodels = []", "providers.x: base_url is missing"),
        ('[providers.x]\nbase_url = "x:1"', "providers.x: base_url must begin with http:// or https://"),
        (
            '[providers.x]\nbase_url = "http://x"\nkey = "s"',
            "providers.x: unknown field 'key'; a provider has base_url, api_key_env, models, headers, api",
        ),
        (
            '[providers.x]\nbase_url = "http://x"\nmodels = "m"',
            "providers.x: models: Expected `array`, got `str`",
        ),
        (
            '[providers.offline]\nbase_url = "http://x"',
            "providers.offline: this name is taken; choose another one",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_leaves_the_default_and_says_what_it_can_be(read, text, message):
    loaded = read(text)

    assert loaded.settings == Settings()
    assert [(finding.line, finding.message) for finding in loaded.findings] == [(1, message)]


def test_providers_are_tables_and_a_wrong_one_costs_itself_alone(read):
    loaded = read(
        'model = "gateway:qwen3"\n'
        '[providers.gateway]\nbase_url = "https://gateway.example/v1"\napi_key_env = "GATEWAY_KEY"\n'
        'models = ["qwen3", "glm"]\nheaders = { "X-Team" = "tree" }\n'
        "[providers.bad]\napi_key_env = 1\n"
    )

    assert loaded.settings.model == "gateway:qwen3"
    assert loaded.settings.providers == {
        "gateway": ProviderSettings(
            base_url="https://gateway.example/v1",
            api_key_env="GATEWAY_KEY",
            models=("qwen3", "glm"),
            headers={"X-Team": "tree"},
        )
    }
    assert loaded.sources["providers"] == "file"
    assert [finding.line for finding in loaded.findings] == [7]


def test_one_wrong_value_costs_no_other(read):
    loaded = read('theme = "pink"\ncolor = "never"\n')

    assert loaded.settings.color == "never"
    assert len(loaded.findings) == 1


def test_a_wrong_value_in_the_environment_is_told_by_its_name(read):
    loaded = read("", BRANCHLINE_THEME="pink")

    assert str(loaded.findings[0]).startswith("BRANCHLINE_THEME: theme must be")


@pytest.mark.parametrize(
    ("text", "line"),
    [('theme = "dark"\ncolor = \n', 2), (b'theme = "dark"\n\xff\xfe = 1\n', 2), ("a = " + "[" * 5000, None)],
)
def test_a_file_that_is_no_toml_costs_itself_and_is_told(read, text, line):
    loaded = read(text)

    assert loaded.settings == Settings()
    (finding,) = loaded.findings
    assert finding.line == line
    assert "the file is ignored" in finding.message


@pytest.mark.parametrize(("size", "used"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_file_larger_than_a_megabyte_is_reported_and_ignored(read, size, used):
    text = 'theme = "light"\n#'

    loaded = read(text + "x" * (size - len(text)))

    assert loaded.exists
    assert loaded.settings.theme == ("light" if used else Settings().theme)
    assert [finding.message for finding in loaded.findings] == (
        [] if used else ["is larger than a megabyte and was not read"]
    )


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(read):
    assert read(b'\xef\xbb\xbftheme = "light"\r\n').settings.theme == "light"


@pytest.mark.parametrize("place", ["/dev/zero", "/", "/dev/null/x", "/nowhere/\x00/config.toml"])
def test_what_is_no_file_does_not_end_the_program(place):
    loaded = load({"BRANCHLINE_CONFIG": place})

    assert loaded.settings == Settings()


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200))
def test_no_bytes_make_reading_fail(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)

    load({"BRANCHLINE_CONFIG": str(path)})


def test_the_file_lies_where_the_environment_says(tmp_path):
    assert settings_path({"BRANCHLINE_CONFIG": str(tmp_path / "x.toml")}) == str(tmp_path / "x.toml")
    assert settings_path({"BRANCHLINE_HOME": str(tmp_path)}) == str(tmp_path / "config.toml")
    assert os.path.isabs(settings_path({"HOME": str(tmp_path)}))


# -- words ------------------------------------------------------------------------------------------------


def test_every_setting_is_explained_and_the_template_changes_nothing(read):
    assert all(describe_setting(name).endswith(".") for name in names())
    assert read(template()).settings == Settings()
    assert all(f"\n# {name} = " in template() for name in names())


def test_words_of_a_command_line_become_values():
    assert parse_value("plain", "Yes") is True
    assert parse_value("keep_recent_tokens", "30_000") == 30_000
    assert parse_value("pins", "a, b c") == ("a", "b", "c")
    assert parse_value("model", "") is None
    with pytest.raises(ValueError, match="theme must be auto, dark or light"):
        parse_value("theme", "pink")


@given(st.text())
def test_any_text_is_written_so_that_toml_reads_it_back(text):
    text = text.encode("utf-8", "replace").decode()

    assert tomllib.loads(f"x = {toml_text(text)}") == {"x": text}


# -- changing ---------------------------------------------------------------------------------------------


def test_a_change_keeps_comments_and_what_is_unknown():
    text = '# colours\ntheme  =  "dark"   # at night\nmystery = 1\n\n[table]\ntheme = "mine"\n'

    assert set_value(text, "theme", "light") == text.replace('"dark"', '"light"')


def test_a_new_setting_is_put_before_the_tables():
    assert set_value('color = "never"\n[t]\nx = 1\n', "theme", "dark") == (
        'color = "never"\ntheme = "dark"\n[t]\nx = 1\n'
    )
    assert set_value("[t]\nx = 1\n", "theme", "dark") == 'theme = "dark"\n\n[t]\nx = 1\n'
    assert set_value("", "theme", "dark") == 'theme = "dark"\n'
    assert set_value("# no newline", "theme", "dark") == '# no newline\ntheme = "dark"\n'


def test_a_new_setting_is_put_below_the_comment_that_explains_it():
    changed = set_value(template(), "theme", "dark")

    assert '# theme = "auto"\ntheme = "dark"\n' in changed


def test_a_long_value_is_replaced_whole_and_looks_inside_strings_are_not_believed():
    text = 'pins = [\n  "a", # first\n  "]",\n]\nnote = """\ntheme = "no"\n"""\n'

    assert set_value(text, "pins", ("b",)) == 'pins = ["b"]\nnote = """\ntheme = "no"\n"""\n'
    assert set_value(text, "theme", "dark") == text + 'theme = "dark"\n'


def test_windows_line_ends_stay():
    assert set_value('color = "never"\r\n', "theme", "dark") == 'color = "never"\r\ntheme = "dark"\r\n'


def test_a_file_that_is_no_toml_is_not_changed():
    with pytest.raises(ValueError, match="at line 1"):
        set_value("theme = \n", "color", "never")


def test_a_setting_can_be_taken_out():
    text = '# night\ntheme = "dark" # why\ncolor = "never"\n'

    assert remove_value(text, "theme") == '# night\ncolor = "never"\n'
    assert remove_value(text, "plain") == text


PIECES = st.lists(
    st.sampled_from(
        [
            "# a comment = 1\n",
            "\n",
            "  \t\n",
            'a = "x # no comment" # one\n',
            "'b' = 'it''s'\n".replace("''", ""),
            'c = """\ntheme = "trap"\n[trap]\n"""\n',
            "d = '''\n# trap\n\"\"\"'''\n",
            'e = [1, [2, "]"], # more\n  3]\n',
            'f = {g = "}", h = [1]}\n',
            "i.j = 1\n",
            'k = "\\"" # quote\n',
        ]
    ),
    unique=True,
).map("".join)
TABLES = st.sampled_from(["", "[t]\ntheme = 1\n", "[[t]]\nx = 1\n[[t]]\n", '["odd # name"]\ny = 1\n'])


@settings(deadline=None)
@given(PIECES, PIECES, TABLES, st.sampled_from(["light", 'with " and \\ and #']))
def test_a_change_changes_one_value_and_no_other_character(before, after, tables, value):
    after = "".join(line for line in after.splitlines(keepends=True)) if not before else ""
    text = f'{before}theme = "dark" # kept\n{after}{tables}'

    changed = set_value(text, "theme", value)

    assert changed == text.replace('theme = "dark" # kept', f"theme = {toml_text(value)} # kept")
    assert remove_value(changed, "theme") == before + after + tables


@settings(deadline=None)
@given(PIECES, TABLES)
def test_an_added_setting_can_be_taken_out_again(before, tables):
    changed = set_value(before + tables, "theme", "dark")

    assert tomllib.loads(changed)["theme"] == "dark"
    assert remove_value(changed, "theme").split() == (before + tables).split()

"""Where sessions are kept: the only module that looks at home and environment.

Our own layout gives every working directory a folder of its own, named for people and told apart by a hash,
so that two different directories never share one. ``BRANCHLINE_HOME`` moves everything. Where other programs
keep theirs is said by their formats; :func:`known_places` puts it all together.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from functools import cache

import msgspec

from branchline._arguments import require_path
from branchline._sha256 import sha256
from branchline._user_directories import user_directory
from branchline.entries import Header, json_codec
from branchline.errors import InvalidArgument
from branchline.formats import BUILTIN_FORMATS, PI, Format, agent_name
from branchline.plugins.formats import BrokenFormat, format_named, installed_formats

__all__ = [
    "NATIVE_AGENT",
    "KnownPlaces",
    "Place",
    "agent_names",
    "archive_name",
    "archive_number",
    "archive_root",
    "cache_directory",
    "confine",
    "data_directory",
    "days_kept",
    "desktop_environment",
    "directory_in",
    "directory_name",
    "known_agent",
    "known_places",
    "numbered_archive_name",
    "program_of",
    "resolve_cwd",
    "roots_of",
    "session_directory",
    "session_settings",
    "sessions_root",
    "shares_directory",
    "skeleton_directory",
]

NATIVE_AGENT = "branchline"
"""The name under which our own sessions stand among those of other programs."""
_LARGEST_SETTINGS = 1 << 20
_VARIABLES = frozenset(
    (
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"),
        *("USERPROFILE", "HOMEDRIVE", "HOMEPATH", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
        *(name for program in BUILTIN_FORMATS for name in program.variables),
    )
)
"""The environment variables that name other places than those below home."""
_replaced: dict[str, str] = {}


def data_directory(environment: Mapping[str, str] | None = None, home: str | None = None) -> str:
    """The folder that holds everything branchline keeps for this person, or for the one of another home."""
    environment = os.environ if environment is None else environment
    if moved := environment.get("BRANCHLINE_HOME"):
        return os.path.abspath(os.path.expanduser(moved))
    return user_directory("data", environment, home)


def cache_directory(environment: Mapping[str, str] | None = None, home: str | None = None) -> str:
    """The folder for what can be made again at any time: the catalog."""
    environment = os.environ if environment is None else environment
    if moved := environment.get("BRANCHLINE_HOME"):
        return os.path.join(os.path.abspath(os.path.expanduser(moved)), "cache")
    return user_directory("cache", environment, home)


def skeleton_directory() -> str:
    """The folder for the indexes of large session files."""
    return os.path.join(cache_directory(), "skeletons")


def sessions_root(environment: Mapping[str, str] | None = None, home: str | None = None) -> str:
    """The folder of all our own sessions, one folder inside per working directory."""
    return os.path.join(data_directory(environment, home), "sessions")


def archive_root(agent: str, environment: Mapping[str, str] | None = None, home: str | None = None) -> str:
    """The folder for copies of an agent's sessions that outlive the originals."""
    return os.path.join(data_directory(environment, home), "archive", agent)


def archive_name(path: str, place: Place | None, agent: str) -> str:
    """Return the path of the copy of a session, relative to the archive of its agent.

    It is the path below the agent's usual folder; for a file anywhere else, in ``place`` or in none, it also
    has a hash of that folder, so that no two originals share a copy. Patterns of the agent's files match it.
    """
    if place is not None:
        inside = os.path.relpath(path, place.root)
        if _usual_root(place.format, os.path.expanduser("~")) == place.root:
            return inside
        first, separator, rest = inside.partition(os.sep)
        mark = f"~{_folder_hash(place.root)}"
        return f"{first}{mark}/{rest}" if separator else f"{mark}/{first}"
    folder, name = os.path.split(os.path.realpath(path))
    mark = f"other-{_folder_hash(folder)}"
    for pattern in format_named(agent).traits.file_patterns:
        *folders, last = pattern.split("/")
        if folders and folders[0] == "*" and fnmatch.fnmatchcase(name, last):
            middle = ["_" if "*" in each or "?" in each else each for each in folders[1:]]
            return "/".join((mark, *middle, name))
    return f"{mark}/{name}"


def numbered_archive_name(name: str, number: int) -> str:
    """Return the name of a further copy of the same original, which does not continue the earlier ones."""
    first, separator, rest = name.partition(os.sep)
    return f"{first}~{number}{os.sep}{rest}" if separator else f"~{number}{os.sep}{first}"


def archive_number(name: str) -> tuple[str, int]:
    """Return the name of the first copy of an original, and the number of this one; 0 for the first."""
    found = re.fullmatch(r"(?s)([^/]*)~([1-9]\d{0,5})/(.+)", name)
    if found is None:
        return name, 0
    return f"{found[1]}/{found[3]}" if found[1] else found[3], int(found[2])


@cache
def _usual_root(format_: Format, home: str) -> str | None:
    """The folder of an agent whose environment moves nothing."""
    found = next(iter(format_.home.roots({}, home)), None)
    return None if found is None else os.path.abspath(found)


def _folder_hash(folder: str) -> str:
    return sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def resolve_cwd(cwd: str | os.PathLike[str] | None = None) -> str:
    """A working directory as headers name it: absolute, links kept as they are."""
    path = os.getcwd() if cwd is None else require_path("a working directory", cwd)
    return os.path.abspath(os.path.expanduser(path))


def directory_name(cwd: str | os.PathLike[str]) -> str:
    """The folder name of a working directory: its last parts for people, a hash against mix-ups."""
    resolved = resolve_cwd(cwd)
    words = "-".join(re.findall(r"[A-Za-z0-9._]+", resolved)[-3:])[-48:].strip("-.") or "root"
    digest = sha256(resolved.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{words}-{digest}"


def session_directory(
    cwd: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    home: str | None = None,
) -> str:
    """Where the sessions of a working directory lie."""
    return os.path.join(sessions_root(environment, home), directory_name(resolve_cwd(cwd)))


def confine(home: str, environment: MutableMapping[str, str] | None = None) -> None:
    """Make a folder the home of this process and of those that it starts: no other place is looked at."""
    replaced = _replaced if environment is None else {}
    environment = os.environ if environment is None else environment
    for name in (*_VARIABLES, *_variables_of_installed(environment, home), "HOME"):
        if name in environment:
            replaced.setdefault(name, environment.pop(name))
    environment["HOME"] = environment["BRANCHLINE_HOME"] = home


def desktop_environment() -> dict[str, str]:
    """Return what :func:`confine` replaced, for programs that are none of ours, such as the web browser."""
    return dict(_replaced)


class _Recorder(Mapping[str, str]):
    """An environment that remembers what was asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self._environment[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)


def _variables_of_installed(environment: Mapping[str, str], home: str) -> set[str]:
    """The variables that formats of other packages ask for, whether or not they are set."""
    asked: set[str] = set()
    for format_ in installed_formats().formats:
        for given in (environment, {}):
            recorder = _Recorder(given)
            with suppress(Exception):
                format_.home.roots(recorder, home)
                format_.home.directories(home, recorder, home)
            asked |= recorder.asked
    return asked - {"HOME", "PATH", "TMPDIR"}


# -- every program ----------------------------------------------------------------------------------------


class Place(msgspec.Struct, frozen=True):
    """A folder in which one program keeps sessions, and where to look in it."""

    agent: str
    """The name of the program."""
    format: Format
    root: str
    folders: tuple[str, ...]
    """The root itself; or, for one working directory, the folders inside that are named after it."""
    is_archive: bool = False
    """Whether these are copies that branchline keeps of the agent's sessions."""

    @property
    def is_shared(self) -> bool:
        """Whether the sessions of all projects lie together in what is looked at."""
        return self.folders == (self.root,)


class KnownPlaces(msgspec.Struct, frozen=True):
    """Where to look, and the formats of other packages that could not say it."""

    places: list[Place]
    broken: list[BrokenFormat]


def agent_names() -> list[str]:
    """The programs whose sessions are known, ours first."""
    names = [
        PI.name,
        *(program.name for program in BUILTIN_FORMATS),
        *(one.name for one in installed_formats().formats),
    ]
    return [NATIVE_AGENT, *sorted(names)]


def known_places(
    cwds: Iterable[str] | None = None,
    *,
    agents: Iterable[str] | None = None,
    environment: Mapping[str, str] | None = None,
    home: str | None = None,
) -> KnownPlaces:
    """Where the programs keep the sessions of a working directory (several spellings of it, or None: of all).

    ``agents`` names the programs to look for; ValueError for one that is not known.
    """
    wanted = None if agents is None else set(map(known_agent, agents))
    named = None if cwds is None else tuple(cwds)
    places: list[Place] = []
    broken = list(installed_formats().broken)
    if wanted is None or NATIVE_AGENT in wanted:
        root = sessions_root(environment, home)
        own = (root,) if named is None else tuple(session_directory(cwd, environment, home) for cwd in named)
        places.append(Place(NATIVE_AGENT, PI, root, own))
    environment = os.environ if environment is None else environment
    home = os.path.expanduser("~") if home is None else home
    for format_ in _formats(environment, home, wanted):
        try:
            places += _places_of(format_, named, environment, home)
            archive = archive_root(format_.name, environment, home)
            if os.path.isdir(archive):
                places.append(Place(format_.name, format_, archive, (archive,), is_archive=True))
        except Exception as problem:  # noqa: BLE001  formats come from many hands
            broken.append(BrokenFormat(format_.name, f"{type(problem).__name__}: {problem}"))
    return KnownPlaces(places, broken)


def program_of(path: str, format_name: str) -> str:
    """The program that owns a file in this format: the one in whose folder it lies, if it writes such files.

    A file of another program in our own folder still belongs to that one.
    """
    path = os.path.abspath(path)
    inside = [place for place in known_places().places if path.startswith(place.root + os.sep)]
    owners = [place for place in inside if place.format.name == format_name]
    return max(owners, key=lambda place: len(place.root)).agent if owners else format_name


def _formats(environment: Mapping[str, str], home: str, wanted: set[str] | None) -> Iterator[Format]:
    """The formats of programs that may have kept something. Loading all of them takes its time."""
    if wanted is None or PI.name in wanted:
        yield PI
    for program in BUILTIN_FORMATS:
        if wanted is not None and program.name not in wanted:
            continue
        folders = [os.path.join(home, folder) for folder in program.folders]
        folders.append(archive_root(program.name, environment, home))
        if not home or any(map(environment.get, program.variables)) or any(map(os.path.isdir, folders)):
            yield program.load()
    yield from (one for one in installed_formats().formats if wanted is None or one.name in wanted)


def _places_of(
    format_: Format, cwds: tuple[str, ...] | None, environment: Mapping[str, str], home: str
) -> Iterator[Place]:
    roots = list(dict.fromkeys(map(os.path.abspath, format_.home.roots(environment, home))))
    inside: dict[str, list[str]] = {}
    for cwd in cwds or ():
        for found in format_.home.directories(cwd, environment, home):
            folder = os.path.abspath(found)
            root = next((root for root in roots if folder == root or folder.startswith(root + os.sep)), None)
            if root is not None and folder not in (known := inside.setdefault(root, [])):
                known.append(folder)
    for root in roots:
        if cwds is None or root in inside:
            yield Place(format_.name, format_, root, tuple(inside.get(root, [root])))
    if format_ is PI and not environment.get("PI_CODING_AGENT_SESSION_DIR"):
        for root in _directories_in_settings(cwds or (), environment, home):
            yield Place(format_.name, format_, root, (root,))


def _directories_in_settings(
    cwds: tuple[str, ...], environment: Mapping[str, str], home: str
) -> Iterator[str]:
    """The directories that pi's settings name instead of its own: for a project, and for the person."""
    agent = os.path.dirname(PI.home.roots(environment, home)[0])
    files = [(cwd, os.path.join(cwd, ".pi", "settings.json")) for cwd in cwds]
    files += [(cwd, os.path.join(agent, "settings.json")) for cwd in cwds or (home,)]
    for base, path in files:
        try:
            with open(path, "rb") as file:
                settings = json_codec.loads(file.read(_LARGEST_SETTINGS))
        except (OSError, ValueError):
            continue  # no settings, or none that tell anything
        named = settings.get("sessionDir") if isinstance(settings, dict) else None
        if isinstance(named, str) and named and "\0" not in named:
            named = home + named[1:] if named == "~" or named.startswith("~/") else named
            yield os.path.abspath(os.path.join(base, named))


def known_agent(name: str) -> str:
    """The agent of this name, however it is spelled. ValueError for one that is not known."""
    known = agent_names()
    if agent_name(name) in known:
        return agent_name(name)
    import difflib  # noqa: PLC0415  only for those who mistype

    close = difflib.get_close_matches(name, known, n=2, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known are {', '.join(known)}"
    raise InvalidArgument(f"unknown agent {name!r}; {hint}")


def days_kept(place: Place) -> float | None:
    """How many days after their last change an agent keeps sessions; None where it deletes none.

    The number in the agent's settings counts, else the agent's default.
    """
    traits = place.format.traits
    if traits.keeps_days is None:
        return None
    path = os.path.join(os.path.dirname(place.root), "settings.json")
    try:
        with open(path, "rb") as file:
            found = json_codec.loads(file.read(_LARGEST_SETTINGS))
    except (OSError, ValueError):
        return traits.keeps_days
    return traits.days_kept(found if isinstance(found, dict) else {})


def roots_of(format_: Format) -> list[str]:
    """The directories below which the program of a format keeps the sessions of this person."""
    return format_.home.roots(os.environ, os.path.expanduser("~"))


def profile_directory(format_: Format) -> str | None:
    """The session directory of the first profile that exists; a new profile does not have it yet."""
    for pattern in format_.home.profile_patterns(os.environ, os.path.expanduser("~")):
        profile, folder = os.path.split(pattern)
        if found := _last_changed(profile, folder):
            return os.path.join(found, folder)
    return None


def _last_changed(pattern: str, folder: str = "") -> str | None:
    """The directory of this pattern that changed last, or whose ``folder`` did, if it is there."""
    import glob  # noqa: PLC0415  few programs have profiles

    def changed(path: str) -> tuple[float, str]:
        inside = os.path.join(path, folder)
        return os.stat(inside if os.path.isdir(inside) else path).st_mtime, path

    return max((path for path in glob.glob(pattern) if os.path.isdir(path)), key=changed, default=None)


def new_directory(format_: Format, header: Header) -> str | None:
    """Where a new session of a program belongs, None where nobody knows."""
    for directory in format_.home.new_directories(header, os.environ, os.path.expanduser("~")):
        if not any(sign in directory for sign in "*?"):
            return directory
        if (found := _last_changed(directory)) is not None:
            return found
    return None


def session_settings(format_: Format) -> dict[str, str]:
    """What new sessions of a program must repeat of its settings, as metadata of their header."""
    settings = format_.settings
    if settings is None:
        return {}
    try:
        with open(settings.settings_file(os.environ, os.path.expanduser("~")), "rb") as file:
            return settings.session_settings(file.read(_LARGEST_SETTINGS))
    except FileNotFoundError:
        return settings.session_settings(b"")  # the program has its defaults
    except OSError:
        return {}


def directory_in(layout: Callable[[str, Mapping[str, str], str], str | None], cwd: str) -> str | None:
    """Where a program with this layout keeps the sessions of a working directory of this person."""
    return layout(cwd, os.environ, os.path.expanduser("~"))


def shares_directory(format_: Format, cwd: str) -> bool:
    """Whether an agent keeps the sessions of this working directory together with those of others."""
    here, below = (directory_in(format_.home.directory, place) for place in (cwd, os.path.join(cwd, "x")))
    return here == below

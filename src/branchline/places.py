"""Where sessions are kept: the only module that looks at home and environment.

Our own layout gives every working directory a folder of its own, named for people and told apart by a hash,
so that two different directories never share one. ``BRANCHLINE_HOME`` moves everything. Where other programs
keep theirs is said by their formats; :func:`known_places` puts it all together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from branchline._sha256 import sha256
from branchline._user_directories import user_directory
from branchline.entries import Header, json_codec
from branchline.errors import InvalidArgument
from branchline.formats import BUILTIN_FORMATS, PI, Format, agent_name
from branchline.plugins.formats import BrokenFormat, installed_formats

__all__ = [
    "NATIVE_AGENT",
    "KnownPlaces",
    "Place",
    "agent_names",
    "archive_root",
    "cache_directory",
    "data_directory",
    "days_kept",
    "directory_in",
    "directory_name",
    "known_agent",
    "known_places",
    "program_of",
    "resolve_cwd",
    "roots_of",
    "session_directory",
    "session_settings",
    "sessions_root",
    "skeleton_directory",
]

NATIVE_AGENT = "branchline"
"""The name under which our own sessions stand among those of other programs."""
_LARGEST_SETTINGS = 1 << 20


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


def resolve_cwd(cwd: str | os.PathLike[str] | None = None) -> str:
    """A working directory as headers name it: absolute, links kept as they are."""
    return os.path.abspath(os.path.expanduser(os.fspath(cwd) if cwd is not None else os.getcwd()))


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


def existing_directory(patterns: Callable[[Mapping[str, str], str], Sequence[str]]) -> str | None:
    """The directory that the first of these patterns finds, of several the one that changed last."""
    import glob  # noqa: PLC0415  few programs have profiles

    for pattern in patterns(os.environ, os.path.expanduser("~")):
        if found := [path for path in glob.glob(pattern) if os.path.isdir(path)]:
            return max(found, key=lambda path: (os.stat(path).st_mtime, path))
    return None


def new_directory(format_: Format, header: Header) -> str | None:
    """Where a new session of a program belongs, None where nobody knows."""
    for directory in format_.home.new_directories(header, os.environ, os.path.expanduser("~")):
        if not any(sign in directory for sign in "*?"):
            return directory
        if (found := existing_directory(lambda *_, pattern=directory: [pattern])) is not None:
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

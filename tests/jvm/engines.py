"""The engines of the JVM: their jars, which Maven fetches, and a program of each that is run on documents.

`python -m jvm.engines solr` fetches the jars of an engine, and ends with 3 and a line where it cannot be run.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import platformdirs

HERE = Path(__file__).parent
CACHE = Path(platformdirs.user_cache_dir("directrank"), "engines")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PLUGIN_SOURCES = "DIRECTRANK_LTR_PLUGIN"

#: Projects with the program of another one.
PROGRAMS = {"plugin_ranklib": "ranklib"}
Name = TypeVar("Name")


class NotHereError(Exception):
    """The engine cannot be run on this machine; the text says why."""


def versions(engine: str) -> str:
    """Return the names and versions of the jars that a project asks for."""
    text = (HERE / engine / "pom.xml").read_text()
    found = re.findall(r"<artifactId>([^<]*)</artifactId>\s*<version>([^<]*)</version>", text)
    return ", ".join(f"{name} {version}" for name, version in found[1:])


def ran(command: list[str], **options) -> str:
    """Return what a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}"[-4000:])
    return done.stdout


def program(engine: str) -> str:
    """Return the class path of an engine's jars and of its program, fetched and compiled at most once.

    Raises NotHereError if there is no Maven or no JDK, or if the registry does not serve the jars.
    """
    for tool in ("mvn", "javac", "java"):
        if shutil.which(tool) is None:
            raise NotHereError(f"{engine} was not run: {tool} is not installed (a JDK of 17 and Maven)")
    pom = HERE / engine / "pom.xml"
    sources = [HERE / "Case.java", *sorted((HERE / PROGRAMS.get(engine, engine)).glob("*.java"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (pom, *sources))).hexdigest()[:16]
    folder = CACHE / f"{engine}-{digest}"
    jars = folder / "jars"
    if not jars.exists() or not all(Path(jar).exists() for jar in jars.read_text().split(":")):
        folder.mkdir(parents=True, exist_ok=True)
        asked = ["mvn", "-B", "-ntp", "-q", "-f", str(pom), PLUGIN, f"-Dmdep.outputFile={folder / 'new'}"]
        try:
            ran(asked, timeout=600)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            line = next((line for line in str(error).splitlines() if "ERROR" in line), str(error))
            raise NotHereError(
                f"{engine} was not run: Maven did not serve {versions(engine)}: {line}"
            ) from None
        fetched = (folder / "new").read_text().split(":")
        for archive in (path for path in fetched if path.endswith(".zip")):
            with zipfile.ZipFile(archive) as file:
                inside = [name for name in file.namelist() if name.endswith(".jar")]
                file.extractall(folder / "plugins", inside)
            fetched += [str(folder / "plugins" / name) for name in inside]
        paths = ":".join(dict.fromkeys(path for path in fetched if path.endswith(".jar")))
        ran(["javac", "-nowarn", "-cp", paths, "-d", str(folder), *map(str, sources)])
        (folder / "new").write_text(paths)
        (folder / "new").replace(jars)
    return f"{folder}:{jars.read_text()}"


def plugin() -> str:
    """Return the classes of OpenSearch's learning-to-rank plug-in, compiled from its sources, and a scorer.

    Maven's registry does not serve it, so the environment variable `PLUGIN_SOURCES` names a copy of its
    repository at the branch of the server's version. Raises NotHereError where it does not.
    """
    named = os.environ.get(PLUGIN_SOURCES)
    if not named:
        raise NotHereError(
            "OpenSearch's plug-in was not run: Maven's registry does not serve the learning-to-rank "
            f"plug-in; name a copy of opensearch-learning-to-rank-base at branch 2.19 by {PLUGIN_SOURCES}"
        )
    main = Path(named, "src", "main")
    sources = [*sorted(main.glob("java/**/*.java")), HERE / "opensearch_ltr" / "PluginScores.java"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    folder = CACHE / f"opensearch-ltr-{digest}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(prefix="directrank-") as place:
            classes = Path(place, "classes")
            shutil.copytree(main / "resources", classes)
            path = program("opensearch")
            ran(["javac", "-nowarn", "-proc:none", "-cp", path, "-d", str(classes), *map(str, sources)])
            shutil.copytree(classes, folder)
    return str(folder)


class Server:
    """The HTTP interface of an engine that runs on this machine."""

    def __init__(self, url: str) -> None:
        self.url = url

    def send(self, path: str, body: object = None, method: str = "GET", **params: object) -> dict[str, Any]:
        """Return the answer to a request; a refusal raises a RuntimeError with the engine's words.

        The body is JSON, or text that is sent as it is.
        """
        asked = urllib.request.Request(
            f"{self.url}{path}?{urllib.parse.urlencode(params)}",
            None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(asked, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None


@contextmanager
def serving(engine: str, home: Path, *arguments: str, classes: str = "") -> Iterator[int]:
    """Run the server of a project in a home folder, and yield its port."""
    with (home / "log").open("w") as log:
        path = program(engine) if not classes else f"{classes}:{program(engine)}"
        server = subprocess.Popen(
            ["java", *JVM, "-cp", path, "Main", str(home), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        assert server.stdout is not None
        line = next((line for line in server.stdout if line.startswith("port ")), None)
        if line is None:
            raise RuntimeError(f"{engine} did not start: {(home / 'log').read_text()[-4000:]}")
        yield int(line.split()[1])
    finally:
        server.communicate("\n", timeout=60)


def scores(
    engine: str, cases: dict[Name, tuple[bytes, tuple[str, ...], np.ndarray]], main: str = "Main",
    classes: str = "",
) -> dict[Name, np.ndarray]:  # fmt: skip
    """Return an engine's scores of models, each with the names of features and rows of them."""
    path = program(engine) if not classes else f"{classes}:{program(engine)}"
    with tempfile.TemporaryDirectory(prefix="directrank-") as place:
        folders = []
        for number, (content, names, rows) in enumerate(cases.values()):
            folder = Path(place, str(number))
            folder.mkdir()
            (folder / "model").write_bytes(content)
            (folder / "names").write_text("\n".join(names) + "\n")
            (folder / "rows").write_bytes(np.ascontiguousarray(rows, "<f4").tobytes())
            folders.append(folder)
        # LightGBM's native code goes to one file there, which another process must not write meanwhile.
        temporary = f"-Djava.io.tmpdir={place}"
        ran(["java", *JVM, temporary, "-cp", path, main, *map(str, folders)], timeout=600)
        return {
            name: np.frombuffer((folder / "scores").read_bytes(), "<f8")
            for name, folder in zip(cases, folders, strict=True)
        }


if __name__ == "__main__":
    try:
        program(sys.argv[1])
    except NotHereError as error:
        print(error)
        sys.exit(3)

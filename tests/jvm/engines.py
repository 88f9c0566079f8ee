"""The engines of the JVM: their jars, which Maven fetches, and a program of each that is run on documents.

`python -m jvm.engines solr` fetches the jars of an engine, and ends with 3 and a line where it cannot be run.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypeVar

import numpy as np
import platformdirs

HERE = Path(__file__).parent
CACHE = Path(platformdirs.user_cache_dir("directrank"), "engines")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


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
    pom, sources = (
        HERE / engine / "pom.xml",
        [HERE / "Case.java", HERE / PROGRAMS.get(engine, engine) / "Main.java"],
    )
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
        ran(["javac", "-nowarn", "-cp", (folder / "new").read_text(), "-d", str(folder), *map(str, sources)])
        (folder / "new").replace(jars)
    return f"{folder}:{jars.read_text()}"


def scores(
    engine: str, cases: dict[Name, tuple[bytes, tuple[str, ...], np.ndarray]]
) -> dict[Name, np.ndarray]:
    """Return an engine's scores of models, each with the names of features and rows of them."""
    path = program(engine)
    with tempfile.TemporaryDirectory(prefix="directrank-") as place:
        folders = []
        for number, (content, names, rows) in enumerate(cases.values()):
            folder = Path(place, str(number))
            folder.mkdir()
            (folder / "model").write_bytes(content)
            (folder / "names").write_text("\n".join(names) + "\n")
            (folder / "rows").write_bytes(np.ascontiguousarray(rows, "<f4").tobytes())
            folders.append(folder)
        ran(["java", *JVM, "-cp", path, "Main", *map(str, folders)], timeout=600)
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

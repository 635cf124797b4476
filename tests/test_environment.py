"""The student's environment, for conda, agrees with the lock that everything is tested with."""

import re

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from autograder.course import find_course

ROOT = find_course().root
NEEDED = {"python", "jupyterlab", "numpy", "matplotlib", "ipywidgets"}


def locked(text: str) -> dict[str, set[str]]:
    """The versions that the lock pins, by package; some have one for each range of Pythons."""
    pins: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE):
        pins.setdefault(name, set()).add(version)
    return pins


def wanted(text: str) -> dict[str, SpecifierSet]:
    """The packages of an environment.yml; conda's `=4.6` means what `==4.6.*` says elsewhere."""
    packages = {}
    for line in yaml.safe_load(text)["dependencies"]:
        name, _, versions = line.partition(" ")
        packages[name] = SpecifierSet(re.sub(r"^=([\d.]+)$", r"==\1.*", versions.strip()))
    return packages


def disagreements(environment: str, lock: str) -> list[str]:
    packages, pins = wanted(environment), locked(lock)
    missing = sorted(NEEDED - set(packages))
    wrong = [
        f"{name} {version}"
        for name, versions in packages.items()
        for version in pins.get(name, set() if name == "python" else {"not in the lock"})
        if version == "not in the lock" or version not in versions
    ]
    return missing + wrong


ENVIRONMENT = (ROOT / "environment.yml").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_environment_and_lock_agree():
    assert disagreements(ENVIRONMENT, LOCK) == []
    assert set(wanted(ENVIRONMENT)) == NEEDED


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  - ipywidgets =", "  - ipyvolume =", "ipywidgets"),
        ("jupyterlab =4.6.6", "jupyterlab =4.5.1", "jupyterlab 4.6.6"),
        ("numpy >=2.4", "numpy >=2.5", "numpy 2.4"),
    ],
)
def test_a_disagreement_is_found(old, new, told):
    assert old in ENVIRONMENT
    assert any(line.startswith(told) for line in disagreements(ENVIRONMENT.replace(old, new), LOCK))


def test_python_is_what_the_package_says():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert str(wanted(ENVIRONMENT)["python"]) == str(
        SpecifierSet(re.search(r'requires-python = "(.*)"', project)[1])
    )


def test_the_lock_pins_everything_by_hash_and_names_no_host():
    pinned = re.findall(r"^[a-z0-9].*", LOCK, re.MULTILINE)
    assert len(pinned) > 100
    assert all("==" in line and line.endswith("\\") for line in pinned)
    assert LOCK.count("--hash=sha256:") > len(pinned)
    assert "://" not in LOCK

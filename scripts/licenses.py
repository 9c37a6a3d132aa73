#!/usr/bin/env python3
"""Prints the licences of everything that is in the binary, from `cargo metadata` and the sources of the crates.

Usage: cargo metadata --locked --format-version 1 --filter-platform TRIPLE | scripts/licenses.py
Fails when a crate names no licence.
"""

import json
import pathlib
import sys

NAMES = ("license", "licence", "copying", "unlicense", "notice", "copyright")


def reachable(metadata):
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(package["id"] for package in metadata["packages"] if package["name"] == "lanai")
    found, open_ = set(), [root]
    while open_:
        current = open_.pop()
        if current in found:
            continue
        found.add(current)
        for dependency in nodes[current]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                open_.append(dependency["pkg"])
    return found


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name.lower().startswith(NAMES):
            yield path.name, path.read_text(encoding="utf-8", errors="replace").strip()


def main():
    metadata = json.load(sys.stdin)
    inside = reachable(metadata)
    packages = sorted((p for p in metadata["packages"] if p["id"] in inside and p["source"]), key=lambda p: (p["name"], p["version"]))
    missing = [p["name"] for p in packages if not p["license"] and not p["license_file"]]
    if missing:
        sys.exit(f"error: no licence is named by: {', '.join(missing)}")
    print("What others wrote that is in this program\n")
    for package in packages:
        print(f"{package['name']} {package['version']}: {package['license'] or package['license_file']}")
    shared = {}
    for package in packages:
        for name, text in texts(package):
            shared.setdefault(text, []).append(f"{package['name']} {package['version']} ({name})")
    for text, users in shared.items():
        print("\n" + "=" * 100)
        print("\n".join(users))
        print("-" * 100)
        print(text)


if __name__ == "__main__":
    main()

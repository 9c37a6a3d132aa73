#!/usr/bin/env python3
"""Makes docs/terminal.svg from real output: starts a demo of the program that is named, runs a few commands, draws what they said.

Usage: scripts/picture.py path/to/lanai
"""

import html
import os
import re
import subprocess
import sys
import tempfile

COMMANDS = [
    "lanai rpkg get --repository production",
    "lanai rpkg upgrade --all",
    "lanai rpkg blame production.shop.v2 setters.yaml data.replicas",
    "lanai rpkg propose staging.checkout.v1",
    "kubectl get repositories -o name",
]
WIDTH = 112
LINE = 19
FONT = 8.05


def run(lanai):
    with tempfile.TemporaryDirectory() as home:
        folder = os.path.join(home, "demo")
        demo = subprocess.Popen([lanai, "demo", "--dir", folder], stdout=subprocess.PIPE, text=True)
        try:
            for line in demo.stdout:
                if line.startswith("Ctrl-C "):
                    break
            environment = {
                **os.environ,
                "HOME": home,
                "PATH": os.path.dirname(os.path.abspath(lanai)) + os.pathsep + os.environ["PATH"],
                "KUBECONFIG": os.path.join(folder, "kubeconfig"),
                "KUBECACHEDIR": os.path.join(folder, "kubectl-cache"),
            }
            yield "$ lanai demo", []
            for command in COMMANDS:
                done = subprocess.run(
                    ["sh", "-c", command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
                )
                yield "$ " + command, done.stdout.rstrip("\n").split("\n")
        finally:
            demo.terminate()
            demo.wait()


def wrap(line):
    while len(line) > WIDTH:
        at = line.rfind(" ", 0, WIDTH)
        at = at if at > WIDTH // 2 else WIDTH
        yield line[:at]
        line = "    " + line[at:].lstrip()
    yield line


def draw(steps):
    rows = []
    for command, output in steps:
        rows += [("command", row) for row in wrap(command)]
        rows += [("output", row) for line in output for row in wrap(re.sub(r"\b\d+s$", "5s", line))]
        rows.append(("output", ""))
    rows.pop()
    width, height = int(WIDTH * FONT) + 40, len(rows) * LINE + 56
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="A terminal: packages, an upgrade with a conflict, and a policy that says no">',
        "<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;white-space:pre}.command{fill:#9ece6a}.output{fill:#c0caf5}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1a1b26"/>',
    ]
    out += [f'<circle cx="{20 + 18 * at}" cy="18" r="6" fill="{colour}"/>' for at, colour in enumerate(["#f7768e", "#e0af68", "#9ece6a"])]
    for number, (kind, row) in enumerate(rows):
        if row:
            out.append(f'<text xml:space="preserve" class="{kind}" x="20" y="{52 + number * LINE}">{html.escape(row)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "docs", "terminal.svg"), "w", encoding="utf-8") as file:
        file.write(draw(list(run(os.path.abspath(sys.argv[1])))))

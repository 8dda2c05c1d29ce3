#!/usr/bin/env python3
"""Holds the output of the corpus' score.py (standard input, passed on) against the project's limits."""
import re
import sys

# Instructions of the results, in parts of the input's: in total, and the geometric mean of the programs.
CLASSES = {
    "straight": (0.82, 0.83),
    "if": (0.84, 0.86),
    "loop": (0.92, 0.88),
    "all but the largest 3 %": (0.86, None),
}
ALL = 0.90

text = sys.stdin.read()
print(text, end="")
bad = []


def need(what, value, limit):
    if value > limit:
        bad.append(f"{what}: {value:g} is above {limit:g}")


def find(pattern):
    match = re.search(pattern, text, re.M)
    if not match:
        bad.append(f"score.py prints nothing like {pattern}")
        return None
    return [float(g) for g in match.groups()]


if head := find(r"^programs \d+ +failed (\d+) +worse (\d+)"):
    need("failed", head[0], 0)
    need("worse", head[1], 0)
if total := find(r"^  instrs +(\d+) -> +(\d+)"):
    need("all, in total", total[1] / max(total[0], 1), ALL)
if temps := find(r"temps peer (\d+), ours (\d+)"):
    need("temporaries beside the peer's", temps[1], temps[0])
for name, (ratio, mean) in CLASSES.items():
    if found := find(rf"^  {re.escape(name)} +n +\d+ +\d+ -> +\d+ +([\d.]+) +([\d.]+)"):
        need(f"{name}, in total", found[0], ratio)
        if mean is not None:
            need(f"{name}, geometric mean", found[1], mean)
if bad:
    print("\n".join(["above the limits:", *bad]))
sys.exit(bool(bad))

#!/usr/bin/env python3
"""Holds the output of the corpus' score.py (standard input, passed on) against the project's limits."""
import re
import sys

# Instructions of the results, in parts of the input's: in total, and the geometric mean of the programs.
CLASSES = {
    "straight": (0.75, 0.765),
    "if": (0.66, 0.68),
    "loop": (0.39, 0.47),
    "all but the largest 3 %": (0.65, None),
}
ALL = 0.50
# Copies, in parts of the result.
MOV = 0.10
# Programs with more instructions than the peer's, in parts of those it does right.
BEHIND = 0.02

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
    if mov := find(r"^  mov +\d+ -> +(\d+)"):
        need("copies", mov[0] / max(total[1], 1), MOV)
if peer := find(r"beside the peer on (\d+) programs"):
    if more := find(r"same \d+, more (\d+)"):
        need("behind the peer", more[0] / max(peer[0], 1), BEHIND)
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

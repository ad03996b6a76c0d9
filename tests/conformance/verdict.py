"""Holds the JSON of `muster run` to a verdict (OUTCOME: pass) and its evidence to what CHECKS says: NAME=REGEX, one a line."""

import json
import os
import re
import sys

text = open(sys.argv[1]).read()
if not text.strip():
    sys.exit("muster run printed no result")
run = json.loads(text)
verdict = run["verdict"]
checks = {check["name"]: check for check in verdict["checks"]}
wrong = []
if verdict["outcome"] != os.environ.get("OUTCOME", "pass"):
    wrong.append(f"the verdict is {verdict['outcome']}")
    wrong += [f"{name}: {c['outcome']}: {c['evidence']}" for name, c in checks.items() if c["outcome"] != "pass"]
for line in filter(None, map(str.strip, os.environ.get("CHECKS", "").splitlines())):
    name, _, pattern = line.partition("=")
    if name not in checks:
        wrong.append(f"{name} was not checked")
    elif not re.search(pattern, checks[name]["evidence"]):
        wrong.append(f"{name} does not say {pattern}: {checks[name]['evidence']}")
if wrong:
    sys.exit("\n".join(wrong))
for name, check in checks.items():
    print(f"{name}: {check['evidence']}")

"""Every template below the folders: clean for cfn-lint and for Muster. Of the mutations each whose rule cfn-lint has too (it is one of
the language) is an error or a warning for it as well. Exit 3 on the first kind of disagreement, 4 when there was nothing to judge."""

import json
import pathlib
import subprocess
import sys

import cfnlint.api
import yaml
from cfnlint.config import ManualArgs

REGION = "us-east-1"  # cfn-lint's own default; in others some types are not there

# Rules of the language: cfn-lint has its own for each.
SHARED = {"cfn-section", "cfn-key", "cfn-type", "cfn-property", "cfn-required", "cfn-reference", "cfn-attribute", "cfn-function",
          "cfn-condition", "cfn-conditional", "cfn-mapping", "cfn-circle", "cfn-unused"}


def templates(folders):
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix in (".yaml", ".yml", ".json", ".template") and path.is_file():
                text = path.read_text()
                if "AWSTemplateFormatVersion" in text:
                    yield path, text


def peer(text):
    """Errors and warnings; what it only informs about is no fault."""
    return [str(match) for match in cfnlint.api.lint(text, config=ManualArgs(regions=[REGION])) if match.rule.id[0] in "EW"]


def main():
    muster, folders = sys.argv[1], sys.argv[2:]
    judged, wrong = 0, []
    for path, text in templates(folders):
        judged += 1
        wrong += [f"{path}: cfn-lint: {match}" for match in peer(text)]
        answer = subprocess.run([muster, "validate", str(path)], capture_output=True, text=True, timeout=60)
        wrong += [f"muster: {line}" for line in answer.stdout.splitlines()]
    rows = yaml.safe_load(pathlib.Path("tests/lint/cloudformation_mutations.yaml").read_text())
    seen = missed = 0
    for row in rows:
        if row["rule"] not in SHARED or not row["file"].startswith("tests/lint/templates"):
            continue
        text = pathlib.Path(row["file"]).read_text().replace(row["find"], row["replace"], 1)
        if peer(text):
            seen += 1
        else:
            missed += 1
            print(f"only Muster finds {row['rule']}: {json.dumps(row['replace'])}")
    print(f"{judged} templates, {len(wrong)} disagreements; of {seen + missed} faults of the language cfn-lint sees {seen}")
    for line in wrong:
        print(line)
    if judged == 0 or seen == 0:
        sys.exit(4)
    sys.exit(3 if wrong or seen < missed * 4 else 0)


if __name__ == "__main__":
    main()

"""How a benchmark writes its result: whole or not at all, and with as many digits as a clock can vouch for."""

import json
import re


def rounded(value):
    """Every float to six significant digits; the rest as it is."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def text(result):
    """JSON; large floats as 5.29368e+11, whose zeros would look like digits that were measured."""
    return re.sub(r"(?<=[ \[])-?\d{10,}\.0(?=[,\n\]])", lambda match: f"{float(match[0]):.6g}",
                  json.dumps(rounded(result), indent=1)) + "\n"


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text(result))
    partial.replace(path)

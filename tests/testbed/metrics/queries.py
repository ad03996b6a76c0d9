#!/usr/bin/env python3
"""Every query of every dashboard, and every variable, has data in a Prometheus that scraped everything once.

  queries.py PROMETHEUS DASHBOARD.json…
"""
import json
import re
import sys
import time
import urllib.parse
import urllib.request

server, *files = sys.argv[1:]


def ask(path, **what):
    with urllib.request.urlopen(f'{server}/api/v1/{path}?' + urllib.parse.urlencode(what), timeout=60) as answer:
        return json.load(answer)['data']


def has_data(query):
    query = query.replace('$__rate_interval', '20s')
    query = re.sub(r'\$\{?\w+\}?', '.*', query)
    values = re.fullmatch(r'label_values\((.*), (\w+)\)', query)
    if values:
        return any(series.get(values[2]) for series in ask('series', **{'match[]': values[1]}))
    result = ask('query', query=query)['result']
    return any(sample['value'][1] != 'NaN' for sample in result)


queries = []
for file in files:
    board = json.load(open(file))
    for variable in board['templating']['list']:
        if variable['type'] == 'query':
            queries.append((f"{board['title']}: variable {variable['name']}", variable['definition']))
    for panel in board['panels']:
        for target in panel.get('targets', []):
            queries.append((f"{board['title']}: {panel['title']}", target['expr']))
if not queries:
    sys.exit('no queries: nothing was checked')
# Rates take some scrapes, alerts some evaluations; on a busy machine these come late.
limit = time.monotonic() + 150
missing = queries
while missing and time.monotonic() < limit:
    time.sleep(1)
    missing = [(where, query) for where, query in missing if not has_data(query)]
for where, query in missing:
    print(f'no data: {where}: {query}')
print(f'{len(queries) - len(missing)} of {len(queries)} queries have data')
sys.exit(1 if missing else 0)

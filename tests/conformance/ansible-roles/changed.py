"""changed.py RESULT [TASK…]: the JSON that Ansible's callback wrote. Exit 3 when the run failed, or when other tasks than those named
changed something; without any named, nothing may have. `any`: at least twenty must have."""

import json
import sys

text = open(sys.argv[1]).read()
result = json.loads(text[text.index('{\n'):])
wanted = sys.argv[2:]
changed, failed, tasks = [], [], 0
for play in result['plays']:
    for task in play['tasks']:
        for outcome in task['hosts'].values():
            tasks += 1
            if outcome.get('changed'):
                changed.append(task['task']['name'].split(' : ')[-1])
            if outcome.get('failed') and not outcome.get('ignored'):
                failed.append('%s: %s' % (task['task']['name'], (outcome.get('msg') or outcome.get('stderr') or '')[-1500:]))
stats = list(result['stats'].values())
if not stats or any(s['failures'] or s['unreachable'] for s in stats):
    print('it failed:\n' + '\n'.join(failed[-3:]))
    sys.exit(3)
if wanted == ['any']:
    if len(changed) < 20:
        print('only %d tasks changed something' % len(changed))
        sys.exit(3)
elif sorted(changed) != sorted(wanted):
    print('changed: %s; expected: %s' % (changed, wanted))
    sys.exit(3)
print('%d tasks, %d changed' % (tasks, len(changed)))

"""Gradient descent by Ray's workers: each fits a line to its share of the points, the driver takes the mean of their steps."""
import os
import random
import sys

import ray


@ray.remote(num_cpus=1)
class Worker:
    def __init__(self, seed):
        source = random.Random(seed)
        self.points = [(x, 3 * x + 1 + source.gauss(0, 0.01)) for x in (source.uniform(-1, 1) for _ in range(200))]

    def node(self):
        return ray.get_runtime_context().get_node_id()

    def gradient(self, a, b):
        errors = [(a * x + b - y, x) for x, y in self.points]
        count = len(errors)
        return sum(e * e for e, _ in errors) / count, sum(2 * e * x for e, x in errors) / count, sum(2 * e for e, _ in errors) / count


def main():
    steps, workers = int(sys.argv[1]), int(sys.argv[2])
    # What a shell would make something else of.
    assert sys.argv[3:] == ['two words', '$HOME "x"'], sys.argv
    ray.init()
    group = [Worker.options(scheduling_strategy='SPREAD').remote(seed) for seed in range(workers)]
    print('%d workers on %d nodes' % (workers, len(set(ray.get([w.node.remote() for w in group])))), flush=True)
    a = b = 0.0
    for step in range(1, steps + 1):
        told = ray.get([w.gradient.remote(a, b) for w in group])
        loss, da, db = (sum(t[i] for t in told) / workers for i in range(3))
        a, b = a - 0.3 * da, b - 0.3 * db
        print('step %d loss %.6f' % (step, loss), flush=True)
        if str(step) == os.environ.get('FAIL_AT'):
            sys.exit(7)


main()

"""The nodes that moto does not have: looks for jobs in the queue, runs what their containers would run, on this machine, and puts its
output into the stream that moto names, as Batch's agent does. Ends when its parent does."""

import os
import subprocess
import sys
import time

import boto3

queue = sys.argv[1]
batch, logs = boto3.client("batch"), boto3.client("logs")
parent, seen = os.getppid(), set()


def containers(definition):
    if definition["type"] == "multinode":
        properties = definition["nodeProperties"]
        return [properties["nodeRangeProperties"][0]["container"]] * properties["numNodes"]
    return [definition["containerProperties"]]


def run(job):
    definition = batch.describe_job_definitions(jobDefinitions=[job["jobDefinition"]])["jobDefinitions"][0]
    all_containers = containers(definition)
    nodes = []
    for index, container in enumerate(all_containers):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        environment.update({one["name"]: one["value"] for one in container["environment"]})
        environment["AWS_BATCH_JOB_ID"] = job["jobId"]
        if len(all_containers) > 1:
            environment.update(AWS_BATCH_JOB_NODE_INDEX=str(index), AWS_BATCH_JOB_MAIN_NODE_INDEX="0",
                               AWS_BATCH_JOB_NUM_NODES=str(len(all_containers)))
            if index > 0:
                environment["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = "127.0.0.1"
        nodes.append(subprocess.Popen(container["command"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    # moto knows one stream of a job, not one of each node.
    lines = [line for node in nodes for line in node.communicate()[0].splitlines() if line]
    stream = job["container"]["logStreamName"]
    for make in (lambda: logs.create_log_group(logGroupName="/aws/batch/job"),
                 lambda: logs.create_log_stream(logGroupName="/aws/batch/job", logStreamName=stream)):
        try:
            make()
        except logs.exceptions.ResourceAlreadyExistsException:
            pass
    now = int(time.time() * 1000)
    logs.put_log_events(logGroupName="/aws/batch/job", logStreamName=stream,
                        logEvents=[{"timestamp": now + i, "message": line} for i, line in enumerate(lines)])


while os.getppid() == parent:
    for summary in batch.list_jobs(jobQueue=queue, jobStatus="SUCCEEDED")["jobSummaryList"]:
        if summary["jobId"] not in seen:
            seen.add(summary["jobId"])
            run(batch.describe_jobs(jobs=[summary["jobId"]])["jobs"][0])
    time.sleep(0.3)

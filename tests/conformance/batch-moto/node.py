"""The node that moto does not have: looks for jobs in the queue, runs what their container would run, on this machine, and puts its
output into the stream that moto names, as Batch's agent does. Ends when its parent does."""

import os
import subprocess
import sys
import time

import boto3

queue = sys.argv[1]
batch, logs = boto3.client("batch"), boto3.client("logs")
parent, seen = os.getppid(), set()


def run(job):
    definition = batch.describe_job_definitions(jobDefinitions=[job["jobDefinition"]])["jobDefinitions"][0]
    if definition["type"] == "multinode":
        return  # moto answers for the job alone, not for JOB#NODE: there is no stream where anybody would look
    container = definition["containerProperties"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    environment.update({one["name"]: one["value"] for one in container["environment"]})
    environment["AWS_BATCH_JOB_ID"] = job["jobId"]
    output = subprocess.run(container["command"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=120).stdout
    lines = [line for line in output.splitlines() if line]
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

#!/usr/bin/env python3
"""Runs a command beside a small server that answers as an OpenAI server does, one word every 5 ms.

    beside_stub.py COMMAND [ARGUMENT...]

The server's address is in $SERVER and in place of the word SERVER among the arguments. Exits as the command does.
"""

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        tokens = body.get("max_tokens", 16)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        time.sleep(0.02)
        for _ in range(tokens):
            self.event({"choices": [{"delta": {"content": " word"}}]})
            time.sleep(0.005)
        self.event({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": tokens}})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def log_message(self, *_):
        pass


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 1
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    command = [address if word == "SERVER" else word for word in sys.argv[1:]]
    code = subprocess.run(command, env=dict(os.environ, SERVER=address), check=False).returncode
    server.shutdown()
    return code


if __name__ == "__main__":
    sys.exit(main())

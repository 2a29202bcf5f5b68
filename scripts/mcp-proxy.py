"""Forwards HTTP to azolla and adds the token of MCP clients; Host and Origin go on as they came.

    mcp-proxy.py ADDRESS TOKEN_FILE     prints the address that it listens at, until it is ended

The conformance suite of MCP sends no token. This is for that check alone.
"""

import http.client
import http.server
import sys

HOST, PORT = sys.argv[1].rsplit(":", 1)
with open(sys.argv[2], encoding="ascii") as file:
    TOKEN = file.read().strip()


class Forward(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPConnection(HOST, int(PORT), timeout=30)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("connection", "authorization"):
                upstream.putheader(name, value)
        upstream.putheader("Authorization", f"Bearer {TOKEN}")
        upstream.endheaders(body)
        answer = upstream.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        upstream.close()

    do_GET = do_POST = do_DELETE = do_OPTIONS = forward

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forward)
print(f"127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

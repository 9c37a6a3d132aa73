"""A Kubernetes API server, asked over HTTPS with a client certificate.

SERVER is its address; CA, CERT and KEY are files.
"""

import json
import os
import ssl
import urllib.error
import urllib.request

SERVER = os.environ["SERVER"]
_tls = ssl.create_default_context(cafile=os.environ["CA"])
_tls.load_cert_chain(os.environ["CERT"], os.environ["KEY"])


def ask(method, path, body=None, headers=None):
    """Status, headers and text of the answer."""
    data = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    given = {"Accept": "application/json", "User-Agent": "recorder/1"}
    if data is not None:
        given["Content-Type"] = "application/json"
    given.update(headers or {})
    request = urllib.request.Request(SERVER + path, data=data, method=method, headers=given)
    try:
        with urllib.request.urlopen(request, context=_tls, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, dict(answer.headers), answer.read().decode()


def object_of(method, path, body=None, headers=None):
    """Status and object of the answer."""
    status, _, text = ask(method, path, body, headers)
    return status, json.loads(text)

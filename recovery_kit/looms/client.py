"""Asking a running Service over its HTTP face, with the address and token of its project's own files."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from .names import new_operation_id
from .ownership import CONNECTION, PRIVATE, SERVICE, inspect_ownership
from .refusals import Refused

PATIENCE = 10.0
"""Seconds."""


class Client:
    """A client of the Service that owns a project now. Raises Refused (`CLI_SERVICE_OFFLINE`) where none serves."""

    def __init__(self, project: Path | str) -> None:
        files = inspect_ownership(Path(project)).files
        service, connection = files.get(f"{PRIVATE}/{SERVICE}"), files.get(f"{PRIVATE}/{CONNECTION}")
        if service is None or connection is None:
            raise Refused("CLI_SERVICE_OFFLINE", "no service is at work on the project", True, project)
        self.instance_id: str = service["instanceId"]
        self._url = f"http://127.0.0.1:{connection['port']}"
        self._token: str = connection["token"]

    def get(self, path: str) -> Any:
        """What a path of the face holds."""
        return self._ask(urllib.request.Request(self._url + path))

    def change(self, path: str, operation_id: str | None = None, **members: Any) -> Any:
        """Ask for a change, as an operation for the instance that the files name."""
        operation = {"operationId": operation_id or new_operation_id(), "instanceId": self.instance_id}
        body = json.dumps(members | operation).encode()
        return self._ask(urllib.request.Request(self._url + path, data=body, method="POST"))

    def _ask(self, request: urllib.request.Request) -> Any:
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", "application/json")
        try:
            with _DIRECT.open(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as no:
            with no:
                raise _refused(no.read()) from None
        except OSError as no:
            raise Refused("CLI_SERVICE_OFFLINE", f"the service does not answer ({type(no).__name__})", True) from None


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""A loopback address is never asked through a proxy."""


def _refused(data: bytes) -> Refused:
    try:
        told = json.loads(data)
        return Refused(told["code"], told["message"], bool(told["retryable"]))
    except (ValueError, KeyError, TypeError):
        return Refused("CLI_SERVICE_OFFLINE", "what answers is not the service")


def answers(service: dict[str, Any], project: Path) -> bool:
    """Whether the endpoint that `service.json` names is that very instance, of that project."""
    try:
        told = Client(project).get("/service")
    except Refused:
        return False
    same = {"instanceId": service["instanceId"], "projectRoot": service["projectRoot"]}
    return bool(told == same)

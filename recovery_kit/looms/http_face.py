"""The HTTP face of a Service: loopback only, a bearer token, bounded bodies, strict JSON. The web framework lives here.

Each route is one call of the Service. Errors are the public shape `{code, message, retryable}`. (intloom-recovery 1.11,
2.8)
"""

import secrets
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from recovery_kit.errors import MissingExtra, RecoveryKitError
from recovery_kit.formats.loom_text import BadText, parse_text

from .refusals import Refused
from .service import Service

HOST = "127.0.0.1"
LONGEST_BODY = 1 << 20
"""Bytes of a request."""

STATUS: dict[str, int] = {
    "INVALID_REQUEST": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "INSTANCE_CHANGED": 409,
    "BUSY": 409,
    "TOO_LARGE": 413,
    "CLI_SERVICE_CLOSING": 503,
}
"""HTTP status by code; anything else is 500."""

Act = Callable[[Service, dict[str, str], dict[str, Any]], Any]
"""Takes the Service, what the path and the query name, and the body."""


def _receipt(act: Callable[..., Any], *arguments: Any, body: dict[str, Any]) -> Any:
    """A change: it names its operation and the instance that it is for."""
    for name in ("operationId", "instanceId"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise Refused("INVALID_REQUEST", f"a change names its {name}")
    return act(*arguments, operation_id=body["operationId"], instance_id=body["instanceId"]).as_json()


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise Refused("INVALID_REQUEST", f"{name} is a text")
    return value


def _seq(body: dict[str, Any]) -> int:
    value = body.get("checkpoint")
    if type(value) is not int or not 0 < value < 10**8:
        raise Refused("INVALID_REQUEST", "checkpoint is the number of one")
    return value


def _runs(service: Service, named: dict[str, str], _: dict[str, Any]) -> Any:
    return [view.as_json() for view in service.runs(named.get("operationId"), named.get("originInstance"))]


def _create(service: Service, _: dict[str, str], body: dict[str, Any]) -> Any:
    def act(**ids: str) -> Any:
        source: Any = body.get("source", "cli")
        return service.create(_text(body, "flowName"), _text(body, "intent"), source=source, **ids)

    return _receipt(act, body=body)


def _claimed(service: Service, named: dict[str, str], _: dict[str, Any]) -> Any:
    work = service.claim_work(named["call"])
    return {"callId": work.call_id, "agentId": work.agent_id, "prompt": work.prompt, "token": work.token}


def _completed(service: Service, named: dict[str, str], body: dict[str, Any]) -> Any:
    if "error" in body:
        service.fail_work(named["call"], _text(body, "token"), _text(body, "error"))
    else:
        service.complete_work(named["call"], _text(body, "token"), body.get("reply"))
    return {}


ROUTES: tuple[tuple[str, str, Act], ...] = (
    ("GET", "/service", lambda s, named, body: {"instanceId": s.instance_id, "projectRoot": str(s.project.resolve())}),
    ("GET", "/runs", _runs),
    ("POST", "/runs", _create),
    ("GET", "/runs/{run}", lambda s, named, body: s.run(named["run"]).as_json()),
    (
        "POST",
        "/runs/{run}/answer",
        lambda s, named, body: _receipt(s.answer, named["run"], _text(body, "actionId"), body.get("answer"), body=body),
    ),
    ("POST", "/runs/{run}/cancel", lambda s, named, body: _receipt(s.cancel, named["run"], body=body)),
    ("POST", "/runs/{run}/mirror", lambda s, named, body: _receipt(s.mirror, named["run"], _seq(body), body=body)),
    ("POST", "/runs/{run}/resume", lambda s, named, body: _receipt(s.resume, named["run"], body=body)),
    ("GET", "/receipts/{operation}", lambda s, named, body: s.receipt(named["operation"], named.get("instanceId", ""))),
    ("GET", "/work", lambda s, named, body: [{"callId": w.call_id, "agentId": w.agent_id} for w in s.offered_work()]),
    ("POST", "/work/{call}/claim", _claimed),
    ("POST", "/work/{call}/complete", _completed),
)
"""Every route, with the one call that it is."""


def app_of(service: Service, token: str, stop: Callable[[], None] = lambda: None) -> Any:
    """The application. `stop` is called where a client asks this very instance to stop.

    Raises MissingExtra where the framework is not installed.
    """
    framework, routing = _loaded("starlette.applications"), _loaded("starlette.routing")

    def stopping(service: Service, _: dict[str, str], body: dict[str, Any]) -> Any:
        if _text(body, "instanceId") != service.instance_id:
            raise Refused("INSTANCE_CHANGED", "the request was meant for another instance; nothing was done")
        stop()
        return {}

    routes = (*ROUTES, ("POST", "/service/stop", stopping))
    rows = [routing.Route(path, _endpoint(service, token, act), methods=[verb]) for verb, path, act in routes]
    return framework.Starlette(routes=rows)


def _loaded(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(None, "the HTTP face needs `pip install 'recovery-kit[serve]'`") from None


def _endpoint(service: Service, token: str, act: Act) -> Callable[[Any], Any]:
    in_thread = _loaded("starlette.concurrency").run_in_threadpool
    answer = _loaded("starlette.responses").JSONResponse

    async def endpoint(request: Any) -> Any:
        try:
            _admit(request, token)
            body = await _body(request) if request.method == "POST" else {}
            named = {**request.query_params, **request.path_params}
            return answer(await in_thread(act, service, named, body))
        except Refused as no:
            return answer(no.as_json(), STATUS.get(no.code, 500))
        except RecoveryKitError as no:
            return answer({"code": "INTERNAL", "message": type(no).__name__, "retryable": False}, 500)

    return endpoint


def _admit(request: Any, token: str) -> None:
    """Raises Refused for a foreign host, which a browser may have been led from, and for a wrong token."""
    host = request.headers.get("host", "").rsplit(":", 1)[0]
    if host not in (HOST, "localhost"):
        raise Refused("FORBIDDEN", "requests are for this machine's loopback address")
    given = request.headers.get("authorization", "").encode("utf-8", "replace")
    if not secrets.compare_digest(given, f"Bearer {token}".encode()):
        raise Refused("UNAUTHORIZED", "the bearer token is missing or wrong")


async def _body(request: Any) -> dict[str, Any]:
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > LONGEST_BODY:
            raise Refused("TOO_LARGE", f"a body has at most {LONGEST_BODY} bytes")
    try:
        value = parse_text(data) if data else {}
    except BadText as no:
        raise Refused("INVALID_REQUEST", f"the body cannot be read: {no}") from None
    if not isinstance(value, dict):
        raise Refused("INVALID_REQUEST", "a body is a JSON object")
    return value


class Face:
    """A running HTTP face, its event loop in a thread of its own."""

    def __init__(self, service: Service, connection: dict[str, Any]) -> None:
        uvicorn = _loaded("uvicorn")
        self.stopped = threading.Event()
        """Set once a client asked the Service to stop, or the face ended."""
        self.failure: str | None = None
        """Why it ended by itself."""
        app = app_of(service, connection["token"], self.stopped.set)
        config = uvicorn.Config(
            app, host=HOST, port=connection["port"], log_level="error", access_log=False, lifespan="off"
        )
        self.url = f"http://{HOST}:{connection['port']}"
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="loom face", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._server.run()
        except (SystemExit, Exception) as no:  # a taken port ends the server's thread with SystemExit
            self.failure = type(no).__name__
        finally:
            self.stopped.set()

    def stop(self) -> None:
        """Close the face and wait for it."""
        self._server.should_exit = True
        self._thread.join(10)

    def wait_until_serving(self) -> bool:
        """Whether it came to serve; False where it ended instead, as with a port that is taken."""
        while not self._server.started and not self.stopped.wait(0.01):
            pass
        return bool(self._server.started)

# Sessions and a watch with the official client for Python. Prints a line of JSON for each pod: the outcome of each, or its error.
#   sessions.py <port of a page> (<kubeconfig> <pod>)...
import json
import sys

from kubernetes import client, config, watch
from kubernetes.stream import portforward, stream

namespace = "default"
limit = 60


def open_exec(core, pod, command, stdin):
    place = core.connect_get_namespaced_pod_exec
    return stream(place, pod, namespace, command=command, stdin=stdin, stdout=True, stderr=True, tty=False, _preload_content=False)


def exec_with_exit_code(core, pod, _):
    session = open_exec(core, pod, ["sh", "-c", "echo out; echo problem >&2; exit 3"], False)
    session.run_forever(timeout=limit)
    return [session.read_stdout(), session.read_stderr(), session.returncode]


def exec_with_input(core, pod, _):
    session = open_exec(core, pod, ["cat"], True)
    session.write_stdin("typed\n")
    answer = session.readline_stdout(timeout=limit)
    session.close()
    return answer


def forwarded_page(core, pod, port):
    forward = portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port))
    connection = forward.socket(port)
    connection.settimeout(limit)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received.split(b"\r\n\r\n", 1)[1].decode()


def log(core, pod, _):
    return core.read_namespaced_pod_log(pod, namespace)


def watched(core, pod, _):
    name = f"python-{pod}"
    # What is made before the watch begins would be seen, too: an object that is there is ADDED.
    core.create_namespaced_config_map(namespace, {"metadata": {"name": name}})
    changes = iter([
        lambda: core.patch_namespaced_config_map(name, namespace, {"data": {"a": "1"}}),
        lambda: core.delete_namespaced_config_map(name, namespace),
    ])
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, field_selector=f"metadata.name={name}", timeout_seconds=limit):
        seen.append(event["type"])
        if event["type"] == "DELETED":
            break
        next(changes)()
    return seen


def outcome(work, *args):
    try:
        return work(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


works = {"exec": exec_with_exit_code, "input": exec_with_input, "page": forwarded_page, "log": log, "watch": watched}
port, pairs = int(sys.argv[1]), sys.argv[2:]
for kubeconfig, pod in zip(pairs[::2], pairs[1::2]):
    core = client.CoreV1Api(config.new_client_from_config(kubeconfig))
    print(json.dumps({name: outcome(work, core, pod, port) for name, work in works.items()}), flush=True)

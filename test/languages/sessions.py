# Sessions and a watch with the official client for Python. Prints what came of each, a line of JSON in all.
#   sessions.py <kubeconfig> <pod> <port of a page>
import json
import sys
import threading

from kubernetes import client, config, watch
from kubernetes.stream import portforward, stream

kubeconfig, pod, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
config.load_kube_config(kubeconfig)
core = client.CoreV1Api()
namespace = "default"


def exec_with_exit_code():
    command = ["sh", "-c", "echo out; echo problem >&2; exit 3"]
    session = stream(core.connect_get_namespaced_pod_exec, pod, namespace, command=command, stdin=False, stdout=True, stderr=True, tty=False, _preload_content=False)
    session.run_forever(timeout=30)
    return [session.read_stdout(), session.read_stderr(), session.returncode]


def exec_with_input():
    session = stream(core.connect_get_namespaced_pod_exec, pod, namespace, command=["head", "-n", "1"], stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
    session.write_stdin("typed\n")
    session.run_forever(timeout=30)
    return session.read_stdout()


def forwarded_page():
    forward = portforward(core.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port))
    connection = forward.socket(port)
    connection.setblocking(True)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received.split(b"\r\n\r\n", 1)[1].decode()


def watched():
    name = f"python-{pod}"
    body = {"metadata": {"name": name}}
    making = threading.Timer(1, lambda: core.create_namespaced_config_map(namespace, body))
    making.start()
    for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, field_selector=f"metadata.name={name}", timeout_seconds=30):
        core.delete_namespaced_config_map(name, namespace)
        return event["type"]


print(json.dumps({"exec": exec_with_exit_code(), "input": exec_with_input(), "page": forwarded_page(), "watch": watched()}))

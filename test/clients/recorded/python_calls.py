# What scripts do with the official client; record.ts records it.
import os

from kubernetes import client, config, dynamic, stream, watch
from kubernetes.client.rest import ApiException

config.load_kube_config(os.environ["KUBECONFIG"])
core, apps = client.CoreV1Api(), client.AppsV1Api()
namespace, name = "default", "recorded-python"
meta = {"name": name, "labels": {"recorded": "yes"}}


def refused(call, *args, **more):
    try:
        call(*args, **more)
    except ApiException:
        return
    raise SystemExit("this is not refused")


body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}}
core.create_namespaced_config_map(namespace, body)
refused(core.create_namespaced_config_map, namespace, body)
core.patch_namespaced_config_map(name, namespace, {"data": {"b": "2"}})
core.patch_namespaced_config_map(name, namespace, [{"op": "remove", "path": "/data/b"}])
core.replace_namespaced_config_map(name, namespace, body)
core.list_namespaced_config_map(namespace, label_selector="recorded=yes", limit=1)
core.list_namespaced_config_map(namespace, field_selector=f"metadata.name={name}")
for _ in watch.Watch().stream(core.list_namespaced_config_map, namespace, label_selector="recorded=yes", timeout_seconds=1):
    pass
core.list_namespace()
core.list_node()
client.VersionApi().get_code()
client.ApisApi().get_api_versions()
review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": namespace}}}
client.AuthorizationV1Api().create_self_subject_access_review(review)

spec = {"containers": [{"name": "c", "image": "registry.example.com/nothing"}], "serviceAccountName": "default", "automountServiceAccountToken": False}
core.create_namespaced_pod(namespace, {"metadata": meta, "spec": spec})
core.read_namespaced_pod_log(name, namespace)
refused(stream.stream, core.connect_get_namespaced_pod_exec, name, namespace, command=["true"], stderr=True, stdin=False, stdout=True, tty=False)
core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)

labels = {"recorded": "yes"}
template = {"metadata": {"labels": labels}, "spec": spec}
apps.create_namespaced_deployment(namespace, {"metadata": meta, "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}})
apps.patch_namespaced_deployment_scale(name, namespace, {"spec": {"replicas": 0}})
apps.delete_namespaced_deployment(name, namespace, body=client.V1DeleteOptions(propagation_policy="Background"))
core.create_namespaced_secret(namespace, {"metadata": meta, "stringData": {"a": "1"}})
core.delete_namespaced_secret(name, namespace)

kinds = dynamic.DynamicClient(client.ApiClient())
maps = kinds.resources.get(api_version="v1", kind="ConfigMap")
kinds.server_side_apply(maps, body=body, name=name, namespace=namespace, field_manager="python", force_conflicts=True)
shops = kinds.resources.get(api_version="clients.example.com/v1", kind="Shop")
shop = {"apiVersion": "clients.example.com/v1", "kind": "Shop", "metadata": meta}
shops.create(body=shop, namespace=namespace)
shops.patch(body=shop, name=name, namespace=namespace, content_type="application/merge-patch+json")
shops.get(name=name, namespace=namespace)
shops.delete(name=name, namespace=namespace)
core.delete_collection_namespaced_config_map(namespace, label_selector="recorded=yes")
refused(core.read_namespaced_config_map, name, namespace)

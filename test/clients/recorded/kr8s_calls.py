# What scripts do with kr8s; record.ts records it.
import os

import kr8s
from kr8s.objects import ConfigMap, Deployment, Pod, new_class

api = kr8s.api(kubeconfig=os.environ["KUBECONFIG"])
namespace, name = "default", "recorded-kr8s"
labels = {"recorded": "yes"}
meta = {"name": name, "namespace": namespace, "labels": labels}

api.version()
map = ConfigMap({"metadata": meta, "data": {"a": "1"}}, api=api)
map.create()
map.exists()
map.patch({"data": {"b": "2"}})
map.patch([{"op": "remove", "path": "/data/b"}], type="json")
map.label({"x": "y"})
map.annotate({"x": "y"})
map.refresh()
list(api.get("configmaps", namespace=namespace, label_selector="recorded=yes"))
list(api.get("configmaps", name, namespace=namespace))
list(api.get("pods", namespace=kr8s.ALL))
list(api.get("namespaces"))
for _ in api.watch("configmaps", namespace=namespace, label_selector="recorded=yes"):
    break
map.wait("jsonpath='{.data.a}'=1")

spec = {"containers": [{"name": "c", "image": "registry.example.com/nothing"}], "automountServiceAccountToken": False}
pod = Pod({"metadata": meta, "spec": spec}, api=api)
pod.create()
pod.ready()
pod.delete(grace_period=0)
template = {"metadata": {"labels": labels}, "spec": spec}
deployment = Deployment({"metadata": meta, "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}}, api=api)
deployment.create()
deployment.scale(0)
deployment.delete()

Shop = new_class("Shop", version="clients.example.com/v1", namespaced=True)
shop = Shop({"metadata": meta}, api=api)
shop.create()
shop.patch({"metadata": {"labels": {"x": "y"}}})
shop.delete()
map.delete()
print(map.exists())

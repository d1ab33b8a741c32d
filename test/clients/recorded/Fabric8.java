// What programs do with the client of fabric8; record.ts records it.
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public class Fabric8 {
  static final String namespace = "default";
  static final String name = "recorded-fabric8";
  static final Map<String, String> labels = Map.of("recorded", "yes");

  public static void main(String[] args) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      maps(client);
      workloads(client);
      others(client);
    }
  }

  static void maps(KubernetesClient client) throws Exception {
    var maps = client.configMaps().inNamespace(namespace);
    var one = maps.withName(name);
    ConfigMap made = new ConfigMapBuilder().withNewMetadata().withName(name).withLabels(labels).endMetadata().addToData("a", "1").build();
    client.resource(made).inNamespace(namespace).create();
    one.edit(map -> new ConfigMapBuilder(map).addToData("b", "2").build());
    one.patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"c\":\"3\"}}");
    one.patch(PatchContext.of(PatchType.STRATEGIC_MERGE), "{\"data\":{\"c\":\"4\"}}");
    client.resource(made).inNamespace(namespace).forceConflicts().serverSideApply();
    maps.withLabels(labels).list();
    client.configMaps().inAnyNamespace().withLabels(labels).list();
    var seen = new CountDownLatch(1);
    try (var watch = maps.withLabels(labels).watch(new Seen(seen))) {
      seen.await(20, TimeUnit.SECONDS);
    }
    var synced = maps.withLabels(labels).inform();
    synced.stop();
    one.waitUntilCondition(map -> map != null, 10, TimeUnit.SECONDS);
    one.delete();
    one.get();
  }

  record Seen(CountDownLatch latch) implements Watcher<ConfigMap> {
    public void eventReceived(Action action, ConfigMap map) {
      latch.countDown();
    }

    public void onClose(WatcherException cause) {}
  }

  static void workloads(KubernetesClient client) {
    var pod = new PodBuilder().withNewMetadata().withName(name).withLabels(labels).endMetadata()
        .withNewSpec().withAutomountServiceAccountToken(false)
        .addNewContainer().withName("c").withImage("registry.example.com/nothing").endContainer().endSpec().build();
    client.resource(pod).inNamespace(namespace).create();
    try {
      client.pods().inNamespace(namespace).withName(name).getLog();
    } catch (RuntimeException refused) {
      System.out.println(refused.getMessage());
    }
    try (var exec = client.pods().inNamespace(namespace).withName(name).writingOutput(System.out).exec("true")) {
      exec.exitCode().get(20, TimeUnit.SECONDS);
    } catch (Exception refused) {
      System.out.println(refused.getMessage());
    }
    client.pods().inNamespace(namespace).withName(name).withGracePeriod(0).delete();
    var deployment = new DeploymentBuilder().withNewMetadata().withName(name).endMetadata()
        .withNewSpec().withReplicas(0).withNewSelector().withMatchLabels(labels).endSelector()
        .withNewTemplate().withNewMetadata().withLabels(labels).endMetadata().withSpec(pod.getSpec()).endTemplate().endSpec().build();
    client.resource(deployment).inNamespace(namespace).create();
    client.apps().deployments().inNamespace(namespace).withName(name).scale(0);
    client.apps().deployments().inNamespace(namespace).withName(name).delete();
  }

  static void others(KubernetesClient client) {
    client.getKubernetesVersion();
    client.getApiGroups();
    client.namespaces().list();
    var shops = client.genericKubernetesResources("clients.example.com/v1", "Shop").inNamespace(namespace);
    client.resource("{\"apiVersion\":\"clients.example.com/v1\",\"kind\":\"Shop\",\"metadata\":{\"name\":\"" + name + "\"}}").inNamespace(namespace).create();
    shops.list();
    shops.withName(name).delete();
  }
}

// Watches one access key by its name with the client of fabric8, and makes, disables and deletes it meanwhile. Prints a line of JSON:
// the types of the events, in which those that follow one of the same are left out, and after each whether the key was disabled.
//   java OwnKeys.java <kubeconfig> <name>
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public class OwnKeys {
  static final int limit = 60;
  static final ResourceDefinitionContext kind = new ResourceDefinitionContext.Builder()
    .withGroup("management.platform.sh")
    .withVersion("v1")
    .withKind("OwnedAccessKey")
    .withPlural("ownedaccesskeys")
    .withNamespaced(false)
    .build();

  public static void main(String[] args) throws Exception {
    Config config = Config.fromKubeconfig(new File(args[0]));
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      System.out.println(new ObjectMapper().writeValueAsString(watched(client, args[1])));
    }
  }

  static List<String> watched(KubernetesClient client, String name) throws Exception {
    var keys = client.genericKubernetesResources(kind);
    var one = keys.withName(name);
    var seen = new Seen(new LinkedBlockingQueue<>(), new ArrayList<>());
    try (var watch = one.watch(seen)) {
      keys.resource(made(name)).create();
      seen.until("ADDED");
      one.edit(OwnKeys::disabled);
      seen.until("MODIFIED disabled");
      one.delete();
      seen.until("DELETED");
    }
    return seen.all();
  }

  static GenericKubernetesResource made(String name) {
    return new GenericKubernetesResourceBuilder()
      .withApiVersion("management.platform.sh/v1")
      .withKind("OwnedAccessKey")
      .withNewMetadata().withName(name).endMetadata()
      .addToAdditionalProperties("spec", Map.of("ttl", 600))
      .build();
  }

  static GenericKubernetesResource disabled(GenericKubernetesResource key) {
    Map<String, Object> spec = key.get("spec");
    spec.put("disabled", true);
    return key;
  }

  record Seen(BlockingQueue<String> next, List<String> all) implements Watcher<GenericKubernetesResource> {
    void until(String expected) throws InterruptedException {
      String event;
      do {
        event = next.poll(limit, TimeUnit.SECONDS);
        if (all.isEmpty() || !all.get(all.size() - 1).equals(event)) all.add(event);
      } while (event != null && !event.equals(expected));
    }

    public void eventReceived(Action action, GenericKubernetesResource key) {
      boolean isDisabled = Boolean.TRUE.equals(key.get("spec", "disabled"));
      next.add(action.name() + (isDisabled ? " disabled" : ""));
    }

    public void onClose(WatcherException cause) {
      next.add("closed: " + cause);
    }
  }
}

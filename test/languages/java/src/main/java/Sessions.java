// Sessions and a watch with the client of fabric8. Prints what came of each, a line in all, with a tab between two.
//   Sessions <pod> <port of a page>, with KUBECONFIG
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

public class Sessions {
  public static void main(String[] args) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      System.out.println(String.join("\t", exec(client, args[0]), input(client, args[0]), page(client, args[0], Integer.parseInt(args[1])), watched(client, args[0])));
    }
  }

  static String exec(KubernetesClient client, String pod) throws Exception {
    var out = new ByteArrayOutputStream();
    var problem = new ByteArrayOutputStream();
    try (var session = client.pods().inNamespace("default").withName(pod).writingOutput(out).writingError(problem).exec("sh", "-c", "echo out; echo problem >&2; exit 3")) {
      return session.exitCode().get(30, TimeUnit.SECONDS) + " " + out.toString().strip() + " " + problem.toString().strip();
    }
  }

  static String input(KubernetesClient client, String pod) throws Exception {
    var out = new ByteArrayOutputStream();
    var typed = new ByteArrayInputStream("typed\n".getBytes());
    try (var session = client.pods().inNamespace("default").withName(pod).readingInput(typed).writingOutput(out).exec("head", "-n", "1")) {
      session.exitCode().get(30, TimeUnit.SECONDS);
      return out.toString().strip();
    }
  }

  static String page(KubernetesClient client, String pod, int port) throws Exception {
    try (var forward = client.pods().inNamespace("default").withName(pod).portForward(port)) {
      var asked = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + forward.getLocalPort() + "/")).build();
      return HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString()).body();
    }
  }

  static String watched(KubernetesClient client, String pod) throws Exception {
    var maps = client.configMaps().inNamespace("default");
    var one = new ConfigMapBuilder().withNewMetadata().withName("java-" + pod).endMetadata().build();
    var seen = new CompletableFuture<String>();
    try (var watch = maps.withName("java-" + pod).watch(new Seen(seen))) {
      maps.resource(one).create();
      return seen.get(30, TimeUnit.SECONDS);
    } finally {
      maps.withName("java-" + pod).delete();
    }
  }

  record Seen(CompletableFuture<String> first) implements Watcher<ConfigMap> {
    public void eventReceived(Action action, ConfigMap map) {
      first.complete(action.name());
    }

    public void onClose(WatcherException cause) {}
  }
}

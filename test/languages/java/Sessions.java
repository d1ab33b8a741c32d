// Sessions and watches with the client of fabric8. Prints a line of JSON for each pod: the outcome of each, or its error.
//   java Sessions.java <port of a page> (<kubeconfig> <pod>)...
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.PodResource;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public class Sessions {
  static final int limit = 60;
  static final ObjectMapper json = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    for (int at = 1; at < args.length; at += 2) {
      Config config = Config.fromKubeconfig(new File(args[at]));
      try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
        System.out.println(json.writeValueAsString(outcomes(client, args[at + 1], port)));
      }
    }
  }

  static Map<String, Object> outcomes(KubernetesClient client, String name, int port) {
    PodResource pod = client.pods().inNamespace("default").withName(name);
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("exec", outcome(() -> execWithExitCode(pod)));
    all.put("input", outcome(() -> execWithInput(pod)));
    all.put("page", outcome(() -> forwardedPage(pod, port)));
    all.put("log", outcome(pod::getLog));
    all.put("watch", outcome(() -> watched(client, name)));
    return all;
  }

  static Object outcome(Callable<Object> work) {
    try {
      return work.call();
    } catch (Exception error) {
      return error.toString();
    }
  }

  static Object execWithExitCode(PodResource pod) throws Exception {
    var out = new ByteArrayOutputStream();
    var problem = new ByteArrayOutputStream();
    try (var session = pod.writingOutput(out).writingError(problem).exec("sh", "-c", "echo out; echo problem >&2; exit 3")) {
      int code = session.exitCode().get(limit, TimeUnit.SECONDS);
      return List.of(out.toString(), problem.toString(), code);
    }
  }

  static Object execWithInput(PodResource pod) throws Exception {
    try (var session = pod.redirectingInput().redirectingOutput().exec("cat")) {
      session.getInput().write("typed\n".getBytes());
      session.getInput().flush();
      return new BufferedReader(new InputStreamReader(session.getOutput())).readLine();
    }
  }

  static Object forwardedPage(PodResource pod, int port) throws Exception {
    try (var forward = pod.portForward(port)) {
      var place = URI.create("http://127.0.0.1:" + forward.getLocalPort() + "/");
      var asked = HttpRequest.newBuilder(place).timeout(Duration.ofSeconds(limit)).build();
      return HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString()).body();
    }
  }

  static Object watched(KubernetesClient client, String pod) throws Exception {
    var maps = client.configMaps().inNamespace("default");
    var one = maps.withName("java-" + pod);
    var seen = new Seen(new LinkedBlockingQueue<>());
    var types = new ArrayList<String>();
    try (var watch = one.watch(seen)) {
      maps.resource(new ConfigMapBuilder().withNewMetadata().withName("java-" + pod).endMetadata().build()).create();
      types.add(seen.next());
      one.edit(map -> new ConfigMapBuilder(map).addToData("a", "1").build());
      types.add(seen.next());
      one.delete();
      types.add(seen.next());
    }
    return types;
  }

  record Seen(BlockingQueue<String> types) implements Watcher<ConfigMap> {
    String next() throws InterruptedException {
      return String.valueOf(types.poll(limit, TimeUnit.SECONDS));
    }

    public void eventReceived(Action action, ConfigMap map) {
      types.add(action.name());
    }

    public void onClose(WatcherException cause) {
      types.add("closed: " + cause);
    }
  }
}

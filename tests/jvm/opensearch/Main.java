import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;
import org.opensearch.transport.Netty4Plugin;

/** An OpenSearch node of a home folder with plug-ins: prints its port, and ends with its standard input. */
public final class Main {
    public static void main(String[] arguments) throws Exception {
        var settings = Settings.builder()
            .put("path.home", arguments[0]).put("node.name", "node").put("discovery.type", "single-node")
            .put("http.type", "netty4").put("http.host", "127.0.0.1").put("http.port", "0")
            .put("transport.type", "netty4").put("transport.host", "127.0.0.1").put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        List<Class<? extends Plugin>> plugins = new ArrayList<>(List.of(Netty4Plugin.class));
        for (int i = 1; i < arguments.length; i++) {
            plugins.add(Class.forName(arguments[i]).asSubclass(Plugin.class));
        }
        Node node = new Single(settings, plugins);
        node.start();
        var address = node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress();
        System.out.println("port " + address.getPort());
        System.in.read();
        node.close();
        System.exit(0);
    }

    private static final class Single extends Node {
        Single(Settings settings, List<Class<? extends Plugin>> plugins) {
            super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "node"), plugins, false);
        }
    }
}

import java.util.List;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.OpenNode;
import org.elasticsearch.transport.netty4.Netty4Plugin;

/** An Elasticsearch node of a home folder: prints its port, and ends with its standard input. */
public final class Main {
    public static void main(String[] arguments) throws Exception {
        var settings = Settings.builder()
            .put("path.home", arguments[0]).put("node.name", "node").put("discovery.type", "single-node")
            .put("http.type", "netty4").put("http.host", "127.0.0.1").put("http.port", "0")
            .put("transport.type", "netty4").put("transport.host", "127.0.0.1").put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        LogConfigurator.configureESLogging();
        var environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "node");
        var node = new OpenNode(environment, List.of(Netty4Plugin.class));
        node.start();
        var address = node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress();
        System.out.println("port " + address.getPort());
        System.in.read();
        node.close();
        System.exit(0);
    }
}

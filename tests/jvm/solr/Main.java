import java.util.Properties;
import org.apache.solr.client.solrj.embedded.JettyConfig;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;

/** A Solr server of a home folder: prints its port, and ends with its standard input. */
public final class Main {
    public static void main(String[] arguments) throws Exception {
        JettyConfig config = new JettyConfig.Builder().setContext("/solr").setHost("127.0.0.1").build();
        JettySolrRunner server = new JettySolrRunner(arguments[0], new Properties(), config);
        server.start();
        System.out.println("port " + server.getLocalPort());
        System.in.read();
        server.stop();
        System.exit(0);
    }
}

package org.elasticsearch.node;

import java.util.Collection;
import org.elasticsearch.env.Environment;
import org.elasticsearch.plugins.MockPluginsService;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.plugins.PluginsLoader;
import org.elasticsearch.plugins.PluginsService;

/** A node whose plug-ins are on the class path. */
public final class OpenNode extends Node {
    public OpenNode(Environment environment, Collection<Class<? extends Plugin>> plugins) {
        super(NodeConstruction.prepareConstruction(environment, null, new NodeServiceProvider() {
            @Override
            PluginsService newPluginService(Environment of, PluginsLoader loader) {
                return new MockPluginsService(of.settings(), of, plugins);
            }
        }, true));
    }
}

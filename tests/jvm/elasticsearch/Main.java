import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.search.SearchModule;
import org.elasticsearch.xcontent.NamedXContentRegistry;
import org.elasticsearch.xcontent.XContentParser;
import org.elasticsearch.xcontent.XContentParserConfiguration;
import org.elasticsearch.xcontent.XContentType;
import org.elasticsearch.xpack.core.ml.inference.MlInferenceNamedXContentProvider;
import org.elasticsearch.xpack.core.ml.inference.TrainedModelConfig;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.RegressionConfig;
import org.elasticsearch.xpack.core.ml.inference.trainedmodel.inference.InferenceDefinition;
import org.elasticsearch.xpack.core.ml.ltr.MlLTRNamedXContentProvider;

/** Elasticsearch's scores of the body of PUT _ml/trained_models, which its parser of requests reads. */
public final class Main {
    public static void main(String[] folders) throws Exception {
        var parsers = new ArrayList<>(new MlInferenceNamedXContentProvider().getNamedXContentParsers());
        parsers.addAll(new MlLTRNamedXContentProvider().getNamedXContentParsers());
        parsers.addAll(new SearchModule(Settings.EMPTY, List.of()).getNamedXContents());
        var registry = new NamedXContentRegistry(parsers);
        var configuration = XContentParserConfiguration.EMPTY.withRegistry(registry);
        for (String folder : folders) {
            Case one = new Case(folder);
            try (XContentParser parser = XContentType.JSON.xContent().createParser(configuration, one.model)) {
                TrainedModelConfig.STRICT_PARSER.apply(parser, null).setModelId("m").validate(true);
            }
            String definition = one.model.substring(one.model.indexOf("\"definition\": ") + 14);
            InferenceDefinition model;
            try (XContentParser parser = XContentType.JSON.xContent().createParser(configuration, definition)) {
                model = InferenceDefinition.fromXContent(parser);
            }
            one.score(row -> {
                Map<String, Object> fields = new HashMap<>();
                for (int i = 0; i < row.length; i++) {
                    if (!Float.isNaN(row[i])) {
                        fields.put(one.names.get(i), row[i]);
                    }
                }
                return (Double) model.infer(fields, RegressionConfig.EMPTY_PARAMS).predictedValue();
            });
        }
    }
}

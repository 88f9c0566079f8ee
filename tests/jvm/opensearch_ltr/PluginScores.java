import com.o19s.es.ltr.feature.PrebuiltFeature;
import com.o19s.es.ltr.feature.PrebuiltFeatureSet;
import com.o19s.es.ltr.ranker.LtrRanker;
import com.o19s.es.ltr.ranker.parser.LinearRankerParser;
import com.o19s.es.ltr.ranker.parser.LtrRankerParser;
import com.o19s.es.ltr.ranker.parser.XGBoostJsonParser;
import java.util.List;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.NamedXContentRegistry;

/** The scores of the body of _createmodel, by the parsers and rankers of OpenSearch's plug-in. */
public final class PluginScores {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            Case one = new Case(folder);
            String type;
            String definition;
            try (var parser = JsonXContent.jsonXContent.createParser(NamedXContentRegistry.EMPTY, null, one.model)) {
                var model = (java.util.Map<?, ?>) ((java.util.Map<?, ?>) parser.map().get("model")).get("model");
                type = (String) model.get("type");
                definition = (String) model.get("definition");
            }
            LtrRankerParser parser = type.equals(LinearRankerParser.TYPE) ? new LinearRankerParser() : new XGBoostJsonParser();
            List<PrebuiltFeature> features =
                one.names.stream().map(name -> new PrebuiltFeature(name, new MatchAllDocsQuery())).toList();
            LtrRanker ranker = parser.parse(new PrebuiltFeatureSet("features", features), definition);
            one.score(row -> {
                LtrRanker.FeatureVector vector = ranker.newFeatureVector(null);
                for (int i = 0; i < row.length; i++) {
                    if (!Float.isNaN(row[i])) {
                        vector.setFeatureScore(i, row[i]);
                    }
                }
                return ranker.score(vector);
            });
        }
    }
}

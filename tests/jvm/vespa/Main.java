import com.yahoo.searchlib.rankingexpression.RankingExpression;
import com.yahoo.searchlib.rankingexpression.evaluation.DoubleValue;
import com.yahoo.searchlib.rankingexpression.evaluation.MapContext;

/** Vespa's scores of a ranking expression. */
public final class Main {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            Case one = new Case(folder);
            RankingExpression expression = new RankingExpression(one.model);
            one.score(row -> {
                MapContext context = new MapContext();
                for (int i = 0; i < row.length; i++) {
                    context.put(one.names.get(i), new DoubleValue(row[i]));
                }
                return expression.evaluate(context).asDouble();
            });
        }
    }
}

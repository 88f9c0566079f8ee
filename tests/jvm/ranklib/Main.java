import ciir.umass.edu.learning.DenseDataPoint;
import ciir.umass.edu.learning.Ranker;
import ciir.umass.edu.learning.RankerFactory;

/** RankLib's scores of its model text; documents are lines of LETOR text, missing features are left out. */
public final class Main {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            Case one = new Case(folder);
            Ranker ranker = new RankerFactory().loadRankerFromString(one.model);
            one.score(row -> {
                StringBuilder line = new StringBuilder("0 qid:1");
                for (int i = 0; i < row.length; i++) {
                    if (!Float.isNaN(row[i])) {
                        line.append(' ').append(i + 1).append(':').append(row[i]);
                    }
                }
                return ranker.eval(new DenseDataPoint(line.append(" # x").toString()));
            });
        }
    }
}

import java.nio.file.Files;
import java.nio.file.Path;
import ml.dmlc.xgboost4j.java.Booster;
import ml.dmlc.xgboost4j.java.DMatrix;
import ml.dmlc.xgboost4j.java.XGBoost;

/** XGBoost4J's margins of a JSON model. */
public final class Main {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            Case one = new Case(folder);
            Path json = Files.writeString(one.folder.resolve("model.json"), one.model);
            Booster booster = XGBoost.loadModel(json.toString());
            int columns = one.names.size();
            float[] flat = new float[one.rows.length * columns];
            for (int i = 0; i < one.rows.length; i++) {
                System.arraycopy(one.rows[i], 0, flat, i * columns, columns);
            }
            float[][] margins = booster.predict(new DMatrix(flat, one.rows.length, columns, Float.NaN), true);
            double[] scores = new double[one.rows.length];
            for (int i = 0; i < scores.length; i++) {
                scores[i] = margins[i][0];
            }
            one.write(scores);
        }
    }
}

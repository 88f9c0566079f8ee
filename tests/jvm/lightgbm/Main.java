import com.microsoft.ml.lightgbm.PredictionType;
import io.github.metarank.lightgbm4j.LGBMBooster;

/** LightGBM4j's raw scores of a model text. */
public final class Main {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            Case one = new Case(folder);
            LGBMBooster booster = LGBMBooster.loadModelFromString(one.model);
            int columns = one.names.size();
            float[] flat = new float[one.rows.length * columns];
            for (int i = 0; i < one.rows.length; i++) {
                System.arraycopy(one.rows[i], 0, flat, i * columns, columns);
            }
            one.write(booster.predictForMat(
                flat, one.rows.length, columns, true, PredictionType.C_API_PREDICT_RAW_SCORE));
        }
    }
}

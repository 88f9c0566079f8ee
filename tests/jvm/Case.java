import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** A folder with a model, the names of its features and rows of float32; its scores are written there. */
final class Case {
    final Path folder;
    final String model;
    final List<String> names;
    final float[][] rows;

    Case(String folder) throws IOException {
        this.folder = Path.of(folder);
        model = Files.readString(this.folder.resolve("model"), StandardCharsets.UTF_8);
        names = Files.readAllLines(this.folder.resolve("names"), StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(this.folder.resolve("rows")));
        var numbers = bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
        rows = new float[numbers.remaining() / names.size()][names.size()];
        for (float[] row : rows) {
            numbers.get(row);
        }
    }

    void score(ToDoubleFunction<float[]> function) throws IOException {
        double[] scores = new double[rows.length];
        for (int i = 0; i < rows.length; i++) {
            scores[i] = function.applyAsDouble(rows[i]);
        }
        write(scores);
    }

    void write(double[] scores) throws IOException {
        ByteBuffer out = ByteBuffer.allocate(8 * scores.length).order(ByteOrder.LITTLE_ENDIAN);
        out.asDoubleBuffer().put(scores);
        Files.write(folder.resolve("scores"), out.array());
    }
}

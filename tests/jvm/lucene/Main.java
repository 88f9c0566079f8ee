import org.apache.lucene.expressions.Expression;
import org.apache.lucene.expressions.js.JavascriptCompiler;
import org.apache.lucene.search.DoubleValues;

/** The values of a derived feature, which is an expression of Lucene over features by their names. */
public final class Main {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            Case one = new Case(folder);
            Expression expression = JavascriptCompiler.compile(one.model);
            one.score(row -> {
                DoubleValues[] values = new DoubleValues[expression.variables.length];
                for (int i = 0; i < values.length; i++) {
                    values[i] = constant(row[one.names.indexOf(expression.variables[i])]);
                }
                return (float) expression.evaluate(values);
            });
        }
    }

    private static DoubleValues constant(double value) {
        return new DoubleValues() {
            @Override
            public double doubleValue() {
                return value;
            }

            @Override
            public boolean advanceExact(int document) {
                return true;
            }
        };
    }
}

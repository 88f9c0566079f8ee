"""Results of a comparison: values, tables, categories, significance."""

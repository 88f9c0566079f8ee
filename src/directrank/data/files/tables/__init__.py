"""Tables with named columns as collections of documents: CSV, Parquet, Arrow."""

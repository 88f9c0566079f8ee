"""What becomes of measurements: records in files, comparisons with earlier ones, tables and pages."""

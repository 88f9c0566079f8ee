"""Rankings made elsewhere: TREC runs and files of scores, evaluated and compared."""

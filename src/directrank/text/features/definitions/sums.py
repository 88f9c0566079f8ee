"""Sums over the terms that a query shares with a document: tf, idf, their products and logarithms."""

import numpy as np

from directrank.text.features.definitions.definition import Definition

SUMS = (
    Definition("tf", "Σ tf", lambda m: m.sum(m.tf)),
    Definition("log_tf", "Σ log(1 + tf)", lambda m: m.sum(np.log1p(m.tf))),
    Definition("tf_share", "Σ tf / |d|", lambda m: m.sum(m.share)),
    Definition("log_tf_share", "Σ log(1 + tf / |d|)", lambda m: m.sum(np.log1p(m.share))),
    Definition("idf", "Σ log(N / df)", lambda m: m.sum(m.idf)),
    Definition("log_idf", "Σ log(1 + log(N / df))", lambda m: m.sum(m.of_terms(np.log1p(m.term_idf)))),
    Definition("icf", "Σ log(1 + |C| / cf)", lambda m: m.sum(m.of_terms(np.log1p(m.term_icf)))),
    Definition("tf_idf", "Σ tf · log(N / df)", lambda m: m.sum(m.tf * m.idf)),
    Definition("log_tf_idf", "Σ log(1 + tf / |d| · log(N / df))", lambda m: m.sum(np.log1p(m.share * m.idf))),
    Definition("log_tf_icf", "Σ log(1 + tf / |d| · |C| / cf)", lambda m: m.sum(np.log1p(m.share * m.icf))),
    Definition("length", "|d|", lambda m: m.length),
    Definition("log_length", "log(1 + |d|)", lambda m: np.log1p(m.length)),
)

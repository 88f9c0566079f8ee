q Q0 ÿ 1 2 t
q Q0 b 2 1 t

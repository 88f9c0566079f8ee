q 0 ÿ 1
q 0 b 0

"""The schema of Every Eval Ever records, version 0.3.0, unchanged, under the licence beside it (MIT, EvalEval).

It comes with the package every-eval-ever 0.3.0, as every_eval_ever/schemas/eval.schema.json.
"""

"""A reference in the shape of the published one: coverage and the metrics of rows."""

import math

FLOOR = 1e-9
CONFIDENT: float = 0.9


def coverage_at_error(confidences, correct, budget):
    """Accept rows one by one, most confident first; the longest prefix whose error rate is within the budget."""
    order = sorted(range(len(confidences)), key=lambda at: -confidences[at])
    wrong = longest = 0
    for accepted, at in enumerate(order, 1):
        wrong += not correct[at]
        if wrong <= budget * accepted:
            longest = accepted
    return longest / len(order)


def metrics(rows: "list[a_name_that_is_not_there]"):  # noqa: F821
    confidences, correct, nll, brier, mae, rps = [], [], [], [], [], []
    for row in rows:
        p, label = row["p"], row["label"]
        confidences.append(max(p))
        correct.append(p.index(max(p)) == label)
        nll.append(-math.log(max(p[label], FLOOR)))
        brier.append(sum((x - (k == label)) ** 2 for k, x in enumerate(p)))
        if row["type"] == "score":
            mae.append(abs(sum(k * x for k, x in enumerate(p)) - label))
            rps.append(sum((sum(p[: k + 1]) - (label <= k)) ** 2 for k in range(len(p) - 1)) / (len(p) - 1))
    sure = [right for confidence, right in zip(confidences, correct, strict=True) if confidence >= CONFIDENT]
    n = len(rows)
    result = {
        "n": n,
        "acc": sum(correct) / n,
        "nll": sum(nll) / n,
        "brier": sum(brier) / n,
        "ece": ece(confidences, correct),  # noqa: F821 (another pinned function)
        "mean_conf": sum(confidences) / n,
        "confidence_bias": sum(confidences) / n - sum(correct) / n,
        "confident_error_rate": (len(sure) - sum(sure)) / n,
        "coverage_at_0_9": len(sure) / n,
        "accuracy_at_0_9": sum(sure) / len(sure) if sure else None,
        "coverage_at_1pct_error": coverage_at_error(confidences, correct, 0.01),
        "coverage_at_5pct_error": coverage_at_error(confidences, correct, 0.05),
    }
    if mae:
        result["score_mae"] = sum(mae) / len(mae)
        result["ranked_probability_score"] = sum(rps) / len(rps)
    return result

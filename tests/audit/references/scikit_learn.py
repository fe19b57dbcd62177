"""scikit-learn as a reference: what is pinned is how it is called; its own version stands in the report."""


def macro_f1(y_true, y_pred):
    from sklearn.metrics import f1_score

    return f1_score(y_true, y_pred, average="macro", zero_division=0)


def balanced_accuracy(y_true, y_pred):
    from sklearn.metrics import balanced_accuracy_score

    return balanced_accuracy_score(y_true, y_pred)


def accuracy(y_true, y_pred):
    from sklearn.metrics import accuracy_score

    return accuracy_score(y_true, y_pred)


def worst_class_f1(y_true, y_pred, labels):
    from sklearn.metrics import f1_score

    return f1_score(y_true, y_pred, labels=labels, average=None, zero_division=0).min()


def ranking(y_true, y_score):
    from sklearn.metrics import average_precision_score, roc_auc_score

    return {"ap": average_precision_score(y_true, y_score), "roc_auc": roc_auc_score(y_true, y_score)}


def calls(y_true, y_score):
    from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

    called = [score >= 0.5 for score in y_score]
    return {
        "accuracy": accuracy_score(y_true, called),
        "precision": precision_score(y_true, called) if any(called) else None,
        "recall": recall_score(y_true, called),
        "f1": f1_score(y_true, called),
    }


def losses(labels, probabilities):
    from sklearn.metrics import brier_score_loss, log_loss

    options = list(range(len(probabilities[0])))
    return {
        "log_loss": log_loss(labels, probabilities, labels=options),
        "brier": brier_score_loss(labels, probabilities, labels=options, scale_by_half=False),
    }

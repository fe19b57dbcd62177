"""torchmetrics as a reference: what is pinned is how it is called; its own version stands in the report."""


def calibration_error(probabilities, labels):
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    chances = torch.tensor(probabilities, dtype=torch.float64)
    truth = torch.tensor(labels)
    classes = len(probabilities[0])
    return multiclass_calibration_error(chances, truth, num_classes=classes, n_bins=10, norm="l1").item()

"""Distillation: the teacher's probabilities as targets."""

from types import SimpleNamespace

import pytest
import torch

from annotated_transformer.data import make_batch
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.training import predict
from experiments import distillation as experiment

SIZES = ModelConfig(30, 1, 16, 32, 2, dropout=0.0)
BATCH = make_batch([([5, 9, 2], [7, 8, 12, 2]), ([6, 2], [11, 2])])


@pytest.fixture
def teacher(monkeypatch):
    torch.manual_seed(0)
    found = transformer(SIZES).eval()
    known = SimpleNamespace(model=found)
    monkeypatch.setattr(experiment, "translator", lambda: known)
    return found


def test_the_loss_is_a_sum_over_places_and_subwords(teacher):
    student = transformer(SIZES)
    with torch.no_grad():
        wanted = predict(teacher, BATCH).softmax(-1).tolist()
        said = predict(student, BATCH).log_softmax(-1).tolist()
    by_hand = sum(
        -p * log_p
        for row, log_row in zip(wanted, said, strict=True)
        for p, log_p in zip(row, log_row, strict=True)
    )
    loss = experiment.taught_loss(student, BATCH, experiment.BASE.train)
    assert loss.item() == pytest.approx(by_hand, rel=1e-5)


def test_a_student_that_is_the_teacher_has_nothing_to_learn(teacher):
    student = transformer(SIZES)
    student.load_state_dict(teacher.state_dict())
    loss = experiment.taught_loss(student, BATCH, experiment.BASE.train)
    loss.backward()
    assert all(p.grad.abs().max() < 1e-5 for p in student.parameters())
    assert all(p.grad is None for p in teacher.parameters())

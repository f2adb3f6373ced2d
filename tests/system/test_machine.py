"""The machine as records tell of it."""

import json
import platform

import torch

from annotated_transformer.system.machine import environment


def test_environment_is_plain_and_true():
    found = json.loads(json.dumps(environment()))
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["torch"] == torch.__version__.split("+")[0]
    assert found["machine"]["threads"] == torch.get_num_threads()
    assert found["machine"]["processor"]

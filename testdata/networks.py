#!/usr/bin/env python3
"""Answer what an agent is asked, from its networks alone, in float64.

    python3 networks.py agent.safetensors < questions.json > answers.json

The file is one that "qta export" or Agent.WriteSafetensors has written. Questions
are {"observations", "goals", "actions"}: a row of each for every question, and d
rows of actions for every question. Answers are {"actions", "values",
"uncertainty"}: what the policy does there; the mean over the critics of its value;
and Equation 5 with the d actions. Nothing here is taken from the Go code but the
layout of the file. It needs Python's standard library alone.
"""

import json
import math
import pathlib
import statistics
import struct
import sys


class Networks:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        metadata = header.pop("__metadata__")
        self.inputs = json.loads(metadata["inputs"])
        self.parameters = json.loads(metadata["parameters"])
        self.tensors = {}
        for name, t in header.items():
            first, last = t["data_offsets"]
            assert t["dtype"] == "F32" and last - first == 4 * math.prod(t["shape"]), name
            self.tensors[name] = struct.unpack_from(f"<{(last - first) // 4}f", data, begin + first)

    def linear(self, name, x):
        weight, n = self.tensors[name + ".weight"], len(x)
        return [b + sum(w * v for w, v in zip(weight[k * n:(k + 1) * n], x))
                for k, b in enumerate(self.tensors[name + ".bias"])]

    def latent(self, name, x):
        """The last hidden layer's output."""
        for layer in range(self.parameters["HiddenLayers"]):
            x = [max(v, 0) for v in self.linear(f"{name}.{layer}", x)]
        return x

    def final(self, name, x):
        return self.linear(f"{name}.{self.parameters['HiddenLayers']}", self.latent(name, x))

    def normalize(self, observation, goal):
        clip, rows = self.inputs["clip"], zip(observation + goal, self.inputs["mean"], self.inputs["scale"])
        return [max(-clip, min((v - mean) * scale, clip)) for v, mean, scale in rows]

    def act(self, sg):
        return [math.tanh(v) for v in self.final("policy", sg)]

    def critics(self):
        return range(self.parameters["Critics"])

    def value(self, sg, action):
        return statistics.fmean(self.final(f"critic.{i}", sg + action)[0] for i in self.critics())

    def deviation(self, sg, action):
        """How far the heads are apart: over them, then over the prediction."""
        predictions = [self.linear(f"head.{i}", self.latent(f"critic.{i}", sg + action)) for i in self.critics()]
        if len(predictions) == 1:
            return 0.0
        return statistics.fmean(map(statistics.stdev, zip(*predictions)))

    def uncertainty(self, sg, actions):
        """Equation 5; actions is d by components."""
        return statistics.fmean(self.deviation(sg, action) for action in actions)


def main():
    networks, questions = Networks(sys.argv[1]), json.load(sys.stdin)
    asked = list(map(networks.normalize, questions["observations"], questions["goals"]))
    actions = list(map(networks.act, asked))
    json.dump({
        "actions": actions,
        "values": list(map(networks.value, asked, actions)),
        "uncertainty": list(map(networks.uncertainty, asked, questions["actions"])),
    }, sys.stdout)


if __name__ == "__main__":
    main()

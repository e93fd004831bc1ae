"""Print the action that an exported agent takes: forward.py agent.safetensors s... g..."""

import json
import math
import struct
import sys

data = open(sys.argv[1], "rb").read()
begin = 8 + struct.unpack_from("<Q", data)[0]
header = json.loads(data[8:begin])
inputs = json.loads(header["__metadata__"]["inputs"])


def tensor(name):
    first, last = header[name]["data_offsets"]
    return struct.unpack_from(f"<{(last - first) // 4}f", data, begin + first)


x = []  # s and g side by side, normalized
for i, mean in enumerate(inputs["mean"]):
    v = (float(sys.argv[2 + i]) - mean) * inputs["scale"][i]
    x.append(max(-inputs["clip"], min(v, inputs["clip"])))
layer = 0
while f"policy.{layer}.weight" in header:
    if layer > 0:
        x = [max(v, 0) for v in x]  # ReLU between the layers
    weight, bias = tensor(f"policy.{layer}.weight"), tensor(f"policy.{layer}.bias")
    x = [b + sum(w * v for w, v in zip(weight[o * len(x):], x)) for o, b in enumerate(bias)]
    layer += 1
print(*map(math.tanh, x))

"""Print the action that an exported agent takes: forward.py agent.safetensors s... g...

It reads what the format allows, of F32, and says in one line what is wrong.
"""

import json
import math
import struct
import sys


def once(pairs):
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"{sys.argv[1]}: {name} comes twice")
    return dict(pairs)


try:
    data = open(sys.argv[1], "rb").read()
    begin = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:begin], object_pairs_hook=once)
    inputs = json.loads(header.pop("__metadata__")["inputs"])
    numbers = [float(number) for number in sys.argv[2:]]
except (OSError, struct.error, ValueError, KeyError) as e:
    sys.exit(f"{sys.argv[1]}: cannot be read: {e}")
end = 0
for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    first, last = t["data_offsets"]
    if t["dtype"] != "F32":
        sys.exit(f"{sys.argv[1]}: the tensor {name} is of {t['dtype']}; only F32 is read")
    if first != end or last - first != 4 * math.prod(t["shape"]):
        sys.exit(f"{sys.argv[1]}: the tensor {name} has bytes {first} to {last}, where those before it end at {end}")
    end = last
if begin + end != len(data):
    sys.exit(f"{sys.argv[1]}: its tensors have {end} bytes, of {len(data) - begin}")


def tensor(name):
    first, last = header[name]["data_offsets"]
    return struct.unpack_from(f"<{(last - first) // 4}f", data, begin + first)


if len(numbers) != len(inputs["mean"]):
    sys.exit(f"{sys.argv[1]}: its policy takes {len(inputs['mean'])} numbers, not {len(numbers)}")
x = []  # s and g side by side, normalized
for number, mean, scale in zip(numbers, inputs["mean"], inputs["scale"]):
    v = (number - mean) * scale
    x.append(max(-inputs["clip"], min(v, inputs["clip"])))
layer = 0
while f"policy.{layer}.weight" in header:
    if layer > 0:
        x = [max(v, 0) for v in x]  # ReLU between the layers
    if f"policy.{layer}.bias" not in header:
        sys.exit(f"{sys.argv[1]}: policy.{layer} has no bias")
    weight, bias = tensor(f"policy.{layer}.weight"), tensor(f"policy.{layer}.bias")
    if len(weight) != len(bias) * len(x):
        sys.exit(f"{sys.argv[1]}: policy.{layer} has a weight and a bias that do not fit")
    x = [b + sum(w * v for w, v in zip(weight[o * len(x):], x)) for o, b in enumerate(bias)]
    layer += 1
print(*map(math.tanh, x))

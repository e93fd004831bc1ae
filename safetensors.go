package qta

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// This file writes an agent's networks in the safetensors format, which other
// frameworks read.

// WriteSafetensors writes the online networks as a safetensors file, in
// float32:
//
//	policy.L.weight    policy.L.bias      layer L, from 0, of the policy
//	critic.I.L.weight  critic.I.L.bias    the same of critic I, from 0
//	head.I.weight      head.I.bias        the head on critic I's last hidden layer
//
// A layer is y = W x + b, where W is out by in; between the layers of a network
// is ReLU. The policy's input is s and g side by side, and its action the tanh of
// its output; a critic's input is s, g and a. Both see s and g normalized: (x -
// mean) · scale, clipped to ±clip. The entry "__metadata__" holds JSON texts:
// "qta" is the version of the package; "sizes", "seed" and "parameters" are the
// agent's; and "inputs" has "mean" and "scale" of s and g, and "clip".
// testdata/forward.py and testdata/forward.c do [Agent.Act] from a file.
//
// The error comes from w, or is a [*NumericError] if a parameter is NaN or
// infinite.
func (a *Agent) WriteSafetensors(w io.Writer) error {
	if err := checkParameters(a.step, a.parameters()...); err != nil {
		return err
	}
	inputs := map[string]any{
		"mean":  slices.Concat(a.stateScale.mean, a.goalScale.mean),
		"scale": slices.Concat(a.stateScale.scale, a.goalScale.scale),
		"clip":  a.stateScale.clip,
	}
	metadata := map[string]string{}
	for key, v := range map[string]any{
		"qta": Version, "sizes": a.sizes, "seed": a.seed, "parameters": a.params, "inputs": inputs,
	} {
		metadata[key] = string(toJSON(v))
	}
	header := append([]byte(`{"__metadata__":`), toJSON(metadata)...)
	var numbers []byte
	addTensor := func(name string, values []float32, shape ...int) {
		begin := len(numbers)
		numbers, _ = binary.Append(numbers, binary.LittleEndian, values) // which only a type can fail
		header = fmt.Appendf(header, `,%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`,
			name, toJSON(shape), begin, len(numbers))
	}
	addLayer := func(name string, l layer) {
		in, out := l.w.rows, l.w.cols
		var weights []float32
		for k := range in * out {
			weights = append(weights, l.w.row(k % in)[k/in])
		}
		addTensor(name+".weight", weights, out, in)
		addTensor(name+".bias", l.b, out)
	}
	for i, l := range a.policy.net.layers {
		addLayer(fmt.Sprintf("policy.%d", i), l)
	}
	for k, c := range a.pun.critics {
		for i, l := range c.q.layers {
			addLayer(fmt.Sprintf("critic.%d.%d", k, i), l)
		}
		addLayer(fmt.Sprintf("head.%d", k), c.head)
	}
	header = append(header, '}')
	for len(header)%8 > 0 { // so that the numbers are aligned
		header = append(header, ' ')
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	_, err := w.Write(slices.Concat(length, header, numbers))
	return err
}

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
// A layer is y = W x + b, where W is out by in. Between the layers of a network is ReLU.
// The policy's input is s and g side by side, and the tanh of its output is the action. A
// critic's input is s, g and a side by side. In both inputs s and g are normalized to
// (x - mean) · scale, and clipped to ±clip.
//
// The entry "__metadata__" holds JSON texts. "qta" is the version of the package.
// "sizes", "seed" and "parameters" are the agent's. "inputs" has "mean" and "scale" of s
// and g, and "clip". testdata/forward.py and testdata/forward.c compute [Agent.Act] from
// a file.
//
// The error is w's, or a [*NumericError] for a parameter that is not finite.
func (a *Agent) WriteSafetensors(w io.Writer) error {
	if err := checkParameters(a.step, a.parameters()); err != nil {
		return err
	}
	f := tensorFile{header: fmt.Appendf(nil, `{"__metadata__":%s`, toJSON(a.metadata()))}
	for i, l := range a.policy.net.layers {
		f.addLayer(fmt.Sprintf("policy.%d", i), l)
	}
	for k, c := range a.pun.critics {
		for i, l := range c.q.layers {
			f.addLayer(fmt.Sprintf("critic.%d.%d", k, i), l)
		}
		f.addLayer(fmt.Sprintf("head.%d", k), c.head)
	}
	f.header = append(f.header, '}')
	for len(f.header)%8 > 0 { // so that the numbers are aligned
		f.header = append(f.header, ' ')
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(f.header)))
	_, err := w.Write(slices.Concat(length, f.header, f.numbers))
	return err
}

// metadata returns the entry "__metadata__", whose values are JSON texts.
func (a *Agent) metadata() map[string]string {
	inputs := map[string]any{
		"mean":  slices.Concat(a.stateScale.mean, a.goalScale.mean),
		"scale": slices.Concat(a.stateScale.scale, a.goalScale.scale),
		"clip":  a.stateScale.clip,
	}
	return map[string]string{
		"qta":        string(toJSON(Version)),
		"sizes":      string(toJSON(a.sizes)),
		"seed":       string(toJSON(a.seed)),
		"parameters": string(toJSON(a.params)),
		"inputs":     string(toJSON(inputs)),
	}
}

// A tensorFile is the two parts of a safetensors file that is being written.
type tensorFile struct {
	header  []byte // JSON
	numbers []byte
}

func (f *tensorFile) addLayer(name string, l layer) {
	in := l.w.rows
	out := l.w.cols
	var weights []float32
	for j := range out {
		for i := range in {
			weights = append(weights, *l.w.at(i, j))
		}
	}
	f.addTensor(name+".weight", weights, out, in)
	f.addTensor(name+".bias", l.b, out)
}

func (f *tensorFile) addTensor(name string, values []float32, shape ...int) {
	begin := len(f.numbers)
	f.numbers, _ = binary.Append(f.numbers, binary.LittleEndian, values) // cannot fail for float32
	f.header = fmt.Appendf(f.header, `,%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`,
		name, toJSON(shape), begin, len(f.numbers))
}

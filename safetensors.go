package qta

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// This file writes an agent's networks in the safetensors format, which other
// frameworks read, and reads them back.

// WriteSafetensors writes the online networks as a safetensors file, in
// float32:
//
//	policy.L.weight    policy.L.bias      layer L, from 0, of the policy
//	critic.I.L.weight  critic.I.L.bias    the same of critic I
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
	scaling := inputScaling{
		Mean:  slices.Concat(a.stateScale.mean, a.goalScale.mean),
		Scale: slices.Concat(a.stateScale.scale, a.goalScale.scale),
		Clip:  a.stateScale.clip,
	}
	metadata := map[string]string{}
	for key, v := range map[string]any{
		"qta": Version, "sizes": a.sizes, "seed": a.seed, "parameters": a.params, "inputs": scaling,
	} {
		metadata[key] = string(toJSON(v))
	}
	header := append([]byte(`{"__metadata__":`), toJSON(metadata)...)
	var numbers []byte
	for _, t := range a.tensors() {
		begin := len(numbers)
		for k := range t.size {
			numbers = binary.LittleEndian.AppendUint32(numbers, math.Float32bits(*t.number(k)))
		}
		place := tensorPlace{"F32", t.shape, []int{begin, len(numbers)}}
		header = fmt.Appendf(header, `,%q:%s`, t.name, toJSON(place))
	}
	header = append(header, '}')
	for len(header)%8 > 0 { // so that the numbers are aligned
		header = append(header, ' ')
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	_, err := w.Write(slices.Concat(length, header, numbers))
	return err
}

// A tensor is the weights or the biases of a layer, under its name.
type tensor struct {
	name   string
	shape  []int
	size   int
	number func(k int) *float32 // row-major
}

// tensors returns the networks' tensors in the order of the file.
func (a *Agent) tensors() (all []tensor) {
	add := func(name string, l layer) {
		in, out := l.w.rows, l.w.cols
		all = append(all,
			tensor{name + ".weight", []int{out, in}, in * out, func(k int) *float32 { return &l.w.row(k % in)[k/in] }},
			tensor{name + ".bias", []int{out}, out, func(k int) *float32 { return &l.b[k] }})
	}
	for i, l := range a.policy.net.layers {
		add(fmt.Sprintf("policy.%d", i), l)
	}
	for k, c := range a.pun.critics {
		for i, l := range c.q.layers {
			add(fmt.Sprintf("critic.%d.%d", k, i), l)
		}
	}
	for k, c := range a.pun.critics {
		add(fmt.Sprintf("head.%d", k), c.head)
	}
	return all
}

// inputScaling is the normalizers of observation and goal, side by side.
type inputScaling struct {
	Mean  []float64 `json:"mean"`
	Scale []float64 `json:"scale"`
	Clip  float64   `json:"clip"`
}

// ReadSafetensors reads a file that [Agent.WriteSafetensors] wrote. The agent
// acts, is evaluated and answers as the one that was written, but its step, losses
// and counts are zero, and UncertaintyPolyak has no effect. It cannot train, and only
// WriteSafetensors saves it.
func ReadSafetensors(r io.Reader) (a *Agent, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("qta: safetensors: %w", err)
		}
	}()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8) {
		return nil, errors.New("it ends inside its header")
	}
	n := 8 + binary.LittleEndian.Uint64(data)
	text, numbers := data[8:n], data[n:]
	tensors, metadata, err := readHeader(text)
	if err == nil {
		a, err = agentOf(metadata, len(numbers))
	}
	if err == nil {
		err = a.fillTensors(tensors, numbers)
	}
	if err != nil {
		return nil, err
	}
	a.estimator, a.unfit = newEstimator(&a.params, a.pun), errNetworksOnly
	return a, nil
}

// A tensorPlace describes a tensor in the header.
type tensorPlace struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets []int  `json:"data_offsets"` // its first byte, and the one after its last
}

// readHeader returns the tensors, all F32, and the metadata of a header.
func readHeader(text []byte) (places map[string]tensorPlace, metadata map[string]string, err error) {
	members, err := uniqueMembers(text)
	if given, ok := members["__metadata__"]; ok && err == nil {
		_, twice := uniqueMembers(given)
		err = cmp.Or(twice, json.Unmarshal(given, &metadata))
	}
	delete(members, "__metadata__")
	if err = cmp.Or(err, fromJSON(toJSON(members), &places)); err != nil || text[0] != '{' || !utf8.Valid(text) {
		return nil, nil, fmt.Errorf("its header is not JSON in UTF-8 that begins with {: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if dtype := places[name].DType; dtype != "F32" {
			return nil, nil, fmt.Errorf("the tensor %.99s has the type %.20q; only F32 is read", oneLine(name), dtype)
		}
	}
	return places, metadata, nil
}

// uniqueMembers returns the members of a JSON object in which no name comes twice.
func uniqueMembers(text []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := fromJSON(text, &members); err != nil {
		return nil, err
	}
	seen, d := map[json.Token]bool{}, json.NewDecoder(bytes.NewReader(text))
	d.Token() // {
	for d.More() {
		name, _ := d.Token()
		if seen[name] {
			return nil, fmt.Errorf("%.99s comes twice", oneLine(fmt.Sprint(name)))
		}
		seen[name] = true
		var value json.RawMessage
		d.Decode(&value)
	}
	return members, nil
}

// agentOf makes an agent, except for its networks' parameters, from a file's
// metadata and the length of its numbers.
func agentOf(metadata map[string]string, length int) (*Agent, error) {
	var p Params
	var s Sizes
	var seed uint64
	var scaling inputScaling
	for i, key := range []string{"sizes", "seed", "inputs", "parameters"} {
		if err := fromJSON([]byte(metadata[key]), []any{&s, &seed, &scaling, &p}[i]); err != nil {
			return nil, fmt.Errorf("its metadata has no valid %q, which WriteSafetensors writes: %w", key, bare(err))
		}
	}
	if criticWeights(&p, s) > float64(length/4) { // before anything is made
		return nil, errors.New("it is shorter than its networks")
	}
	a, err := NewAgent(p, s, seed)
	if err != nil {
		return nil, bare(err)
	}
	n := s.Observation
	if width := n + s.Goal; len(scaling.Mean) != width || len(scaling.Scale) != width {
		return nil, fmt.Errorf("%d means and %d scales of the inputs, want %d",
			len(scaling.Mean), len(scaling.Scale), width)
	}
	a.stateScale.mean, a.goalScale.mean = scaling.Mean[:n], scaling.Mean[n:]
	a.stateScale.scale, a.goalScale.scale = scaling.Scale[:n], scaling.Scale[n:]
	if a.stateScale.clip, a.goalScale.clip = scaling.Clip, scaling.Clip; !(scaling.Clip > 0) {
		return nil, fmt.Errorf("the clip of the inputs is %v, want a number above 0", scaling.Clip)
	}
	return a, nil
}

// fillTensors sets all networks to a file's tensors, found by name.
func (a *Agent) fillTensors(places map[string]tensorPlace, numbers []byte) error {
	tensors, end := a.tensors(), 0
	slices.SortFunc(tensors, func(t, u tensor) int { // as they lie in the file, one behind the other
		return slices.Compare(places[t.name].Offsets, places[u.name].Offsets)
	})
	for _, t := range tensors {
		place, want := places[t.name], []int{end, end + 4*t.size}
		if !slices.Equal(place.Shape, t.shape) || !slices.Equal(place.Offsets, want) || want[1] > len(numbers) {
			return fmt.Errorf("the tensor %s has shape %v at bytes %v, want shape %v at bytes %v of %d", t.name,
				place.Shape, place.Offsets, t.shape, want, len(numbers))
		}
		for k := range t.size {
			v := math.Float32frombits(binary.LittleEndian.Uint32(numbers[end+4*k:]))
			if !finite(float64(v)) {
				return fmt.Errorf("number %d of the tensor %s is %v", k, t.name, v)
			}
			*t.number(k) = v
		}
		end = want[1]
	}
	if len(places) != len(tensors) || len(numbers) != end {
		return fmt.Errorf("%d tensors of %d bytes, its networks have %d of %d",
			len(places), len(numbers), len(tensors), end)
	}
	return nil
}

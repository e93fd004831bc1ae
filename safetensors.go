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
	"strings"
)

// This file takes an agent's networks out, in the format of safetensors that
// other frameworks read, and back in.

// WriteSafetensors writes the online networks as a safetensors file: eight bytes
// with the length of the header, little-endian; the header, which is JSON; and the
// numbers, little-endian float32, of which the header has name, shape and place:
//
//	policy.L.weight    policy.L.bias      layer L, from 0, of the policy
//	critic.I.L.weight  critic.I.L.bias    the same of critic I
//	head.I.weight      head.I.bias        the head on critic I's last hidden layer
//
// A layer is y = W x + b, where W is out by in, row-major; between the layers of a
// network is ReLU. The policy's input is s and g side by side, and its action the
// tanh of its output; a critic's input is s, g and a. Both see s and g normalized:
// (x - mean) · scale, cut off at ±clip. The header's entry "__metadata__" has
// texts, which are JSON: "qta" is the version of the package; "sizes", "seed" and
// "parameters" are those of the agent; and "inputs" has "mean" and "scale", as long
// as s and g side by side, and "clip". This is [Agent.Act] in Python:
//
//	data = open("agent.safetensors", "rb").read()
//	n = 8 + int.from_bytes(data[:8], "little")
//	head = json.loads(data[8:n])
//	t = {k: np.frombuffer(data[n:][slice(*v["data_offsets"])], "<f4").reshape(v["shape"]) for k, v in head.items() if "shape" in v}
//	z = json.loads(head["__metadata__"]["inputs"])
//	x = np.clip((np.concatenate([s, g]) - z["mean"]) * z["scale"], -z["clip"], z["clip"])
//	for l in range(sum(k.startswith("policy") for k in t) // 2):
//	    x = t[f"policy.{l}.weight"] @ (np.maximum(x, 0) if l else x) + t[f"policy.{l}.bias"]
//	action = np.tanh(x)
//
// Targets, optimisers, the average of UncertaintyPolyak, the replay and a
// curriculum's own networks stay behind. The error is a [*NumericError] if a
// parameter is NaN or infinite, or that of w.
func (a *Agent) WriteSafetensors(w io.Writer) error {
	if err := a.checkParameters(); err != nil {
		return err
	}
	header := append([]byte(`{"__metadata__":`), toJSON(a.metadata())...)
	offset := 0
	tensors := a.tensors()
	for _, t := range tensors {
		end := offset + 4*t.numbers()
		header = fmt.Appendf(header, `,%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, t.name, toJSON(t.shape), offset, end)
		offset = end
	}
	header = append(header, '}')
	for len(header)%8 > 0 { // so that the numbers are aligned
		header = append(header, ' ')
	}
	out := slices.Grow(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), len(header)+offset)
	out = append(out, header...)
	for _, t := range tensors {
		for k := range t.numbers() {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(*t.at(k)))
		}
	}
	_, err := w.Write(out)
	return err
}

// A tensor is the weights or the biases of a layer, under its name.
type tensor struct {
	name  string
	shape []int
	at    func(k int) *float32 // number k, row-major
}

func (t *tensor) numbers() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// tensors returns the networks' in the order of the file.
func (a *Agent) tensors() (all []tensor) {
	add := func(name string, l layer) {
		in, out := l.w.rows, l.w.cols
		all = append(all,
			tensor{name + ".weight", []int{out, in}, func(k int) *float32 { return &l.w.data[k%in*out+k/in] }},
			tensor{name + ".bias", []int{out}, func(k int) *float32 { return &l.b[k] }})
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

// metadata returns what the header says beside the tensors.
func (a *Agent) metadata() map[string]string {
	scaling := inputScaling{slices.Concat(a.observations.mean, a.goals.mean), slices.Concat(a.observations.scale, a.goals.scale), a.params.NormalizerClip}
	return map[string]string{
		"qta":        string(toJSON(Version)),
		"sizes":      string(toJSON(a.sizes)),
		"seed":       string(toJSON(a.seed)),
		"parameters": string(toJSON(a.params)),
		"inputs":     string(toJSON(scaling)),
	}
}

// toJSON encodes what has no value that JSON lacks.
func toJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// ReadSafetensors reads a file that [Agent.WriteSafetensors] wrote, and returns an
// agent that acts, is evaluated and answers as that one did, but for a [Survey],
// whose chance depends on the step, and which with UncertaintyPolyak asks the heads
// themselves, and for the step, losses and counts of an [Evaluation]. It has nothing to
// learn from: it refuses to train, and to be saved but by WriteSafetensors. A file
// that is damaged, of something else, or not of the very networks that its
// parameters ask for is an error that says so. Reading takes no more memory than a
// small multiple of what the file holds.
func ReadSafetensors(r io.Reader) (*Agent, error) {
	a, err := readSafetensors(r)
	if err != nil {
		return nil, fmt.Errorf("qta: safetensors: %w", err)
	}
	return a, nil
}

// maxSafetensorsHeader bounds the header that is read, in bytes.
const maxSafetensorsHeader = 16 << 20

func readSafetensors(r io.Reader) (*Agent, error) {
	length, err := readBytes(r, 8, "its header's length")
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length)
	if n > maxSafetensorsHeader {
		return nil, fmt.Errorf("a header of %d bytes, at most %d are read", n, maxSafetensorsHeader)
	}
	text, err := readBytes(r, int64(n), "its header")
	if err != nil {
		return nil, err
	}
	h, err := parseSafetensors(text)
	if err != nil {
		return nil, err
	}
	data, err := readBytes(r, h.size, "its numbers")
	if err != nil {
		return nil, err
	}
	switch _, err := io.ReadFull(r, make([]byte, 1)); {
	case err == nil:
		return nil, errors.New("something follows the numbers")
	case err != io.EOF:
		return nil, err
	}
	return h.agent(data)
}

// readBytes reads n bytes, and takes no memory before they are there.
func readBytes(r io.Reader, n int64, what string) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, n); err == io.EOF {
		return nil, fmt.Errorf("ends within %s", what)
	} else if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A safetensorsHeader is a header whose tensors fill the data from its beginning
// to its end, without overlap.
type safetensorsHeader struct {
	metadata map[string]string
	tensors  map[string]tensorPlace
	size     int64 // of all tensors, in bytes
}

// A tensorPlace is where a tensor of float32 is, in bytes.
type tensorPlace struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// parseSafetensors reads a header.
func parseSafetensors(text []byte) (*safetensorsHeader, error) {
	h := &safetensorsHeader{tensors: map[string]tensorPlace{}}
	err := eachEntry(text, func(name string, value json.RawMessage) error {
		if name == "__metadata__" {
			h.metadata = map[string]string{}
			return eachEntry(value, func(name string, value json.RawMessage) error {
				var text string
				if json.Unmarshal(value, &text) != nil || value[0] != '"' {
					return fmt.Errorf("the metadata %.40q is no text", name)
				}
				h.metadata[name] = text
				return nil
			})
		}
		var t tensorPlace
		d := json.NewDecoder(bytes.NewReader(value))
		if d.DisallowUnknownFields(); d.Decode(&t) != nil {
			return fmt.Errorf("the tensor %.40q has not a dtype, a shape of whole numbers and two data_offsets", name)
		}
		h.tensors[name] = t
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, h.place()
}

// eachEntry calls f for each entry of a JSON object, in which no name comes
// twice. Nothing but spaces may follow it.
func eachEntry(text []byte, f func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("the header, or its metadata, is no JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return errors.New("the header is no JSON")
		}
		if seen[name] {
			return fmt.Errorf("the header has %.40q twice", name)
		}
		seen[name] = true
		if err := f(name, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errors.New("the header is no JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the header's JSON")
	}
	return nil
}

// place checks shapes and offsets, and sets the size.
func (h *safetensorsHeader) place() error {
	names := slices.Collect(maps.Keys(h.tensors))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(h.tensors[a].Offsets[0], h.tensors[b].Offsets[0]), cmp.Compare(a, b))
	})
	for _, name := range names {
		t := h.tensors[name]
		if t.DType != "F32" {
			return fmt.Errorf("the tensor %.40q is of %.20q, want F32", name, t.DType)
		}
		if len(t.Shape) < 1 || len(t.Shape) > 2 || slices.Min(t.Shape) < 1 {
			return fmt.Errorf("the tensor %.40q has no shape of one or two lengths of 1 and above", name)
		}
		bytes := 4.0
		for _, d := range t.Shape {
			bytes *= float64(d)
		}
		begin, end := t.Offsets[0], t.Offsets[1]
		if begin != h.size {
			return fmt.Errorf("the tensor %.40q begins at byte %d, and what is before it ends at %d", name, begin, h.size)
		}
		if end < begin || end > 1<<50 || float64(end-begin) != bytes {
			return fmt.Errorf("the tensor %.40q takes the bytes from %d to %d, and its shape is %v", name, begin, end, t.Shape)
		}
		h.size = end
	}
	return nil
}

// agent makes the agent of a file whose tensors are in data.
func (h *safetensorsHeader) agent(data []byte) (*Agent, error) {
	var sizes Sizes
	var seed uint64
	var scaling inputScaling
	if _, ok := h.metadata["qta"]; !ok {
		return nil, errors.New("its metadata has no \"qta\": this package has not written it")
	}
	for _, m := range []struct {
		name  string
		value any
	}{{"sizes", &sizes}, {"seed", &seed}, {"inputs", &scaling}} {
		if json.Unmarshal([]byte(h.metadata[m.name]), m.value) != nil {
			return nil, fmt.Errorf("its metadata has no %q that can be read", m.name)
		}
	}
	p, err := ReadParams(strings.NewReader(h.metadata["parameters"]), Params{})
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return nil, oneLine(err)
	}
	if min(sizes.Observation, sizes.Goal, sizes.Action) < 1 || max(sizes.Observation, sizes.Goal, sizes.Action) > len(data) ||
		float64(float64(p.Critics+1)*learnerFloats(p, sizes)) > float64(len(data)) {
		return nil, errors.New("fewer numbers than its networks have")
	}
	a, err := NewAgent(p, sizes, seed)
	if err != nil {
		return nil, oneLine(err)
	}
	if err := h.fill(a.tensors(), data); err != nil {
		return nil, err
	}
	copy(a.policy.target.params, a.policy.net.params)
	for _, c := range a.pun.critics {
		copy(c.target.params, c.q.params)
	}
	if a.average != nil {
		a.average = newAverage(a.pun, a.average.ρ)
	}
	if err := scaling.scale(a); err != nil {
		return nil, err
	}
	a.networksOnly = true
	return a, nil
}

// oneLine returns an error of another part of the package as part of a sentence.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "qta: ")), " "))
}

// fill sets all tensors to what is in data.
func (h *safetensorsHeader) fill(tensors []tensor, data []byte) error {
	if len(tensors) != len(h.tensors) {
		return fmt.Errorf("%d tensors, its networks have %d", len(h.tensors), len(tensors))
	}
	for _, t := range tensors {
		place, ok := h.tensors[t.name]
		if !ok {
			return fmt.Errorf("no tensor %s", t.name)
		}
		if !slices.EqualFunc(place.Shape, t.shape, func(a int64, b int) bool { return a == int64(b) }) {
			return fmt.Errorf("the tensor %s has the shape %v, its networks want %v", t.name, place.Shape, t.shape)
		}
		numbers := data[place.Offsets[0]:]
		for k := range t.numbers() {
			v := math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*k:]))
			if !finite(float64(v)) {
				return fmt.Errorf("number %d of the tensor %s is %v", k, t.name, v)
			}
			*t.at(k) = v
		}
	}
	return nil
}

// scale sets an agent's normalizers.
func (s *inputScaling) scale(a *Agent) error {
	n, width := a.sizes.Observation, a.sizes.Observation+a.sizes.Goal
	if len(s.Mean) != width || len(s.Scale) != width || s.Clip != a.params.NormalizerClip {
		return fmt.Errorf("the inputs' scaling has %d means, %d scales and the clip %v, want %d, %[4]d and %v",
			len(s.Mean), len(s.Scale), s.Clip, width, a.params.NormalizerClip)
	}
	for k, v := range s.Scale {
		if !(v > 0) {
			return fmt.Errorf("scale %d of the inputs is %v", k, v)
		}
	}
	copy(a.observations.mean, s.Mean[:n])
	copy(a.observations.scale, s.Scale[:n])
	copy(a.goals.mean, s.Mean[n:])
	copy(a.goals.scale, s.Scale[n:])
	return nil
}

package qta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// This file reads vectors, and makes of their numbers the matrices, networks
// and draws that the code takes.

// decode reads JSON more strictly than encoding/json does: every field of a
// struct must be there, once and spelt as in its tag, except one tagged
// omitempty; there are no others; only a pointer can be null.
func decode(text []byte, to any, name string) error {
	text = bytes.TrimSpace(text)
	p := path{{key: name}}
	if !json.Valid(text) {
		return p.errorf("is not JSON")
	}
	return decodeValue(text, reflect.ValueOf(to).Elem(), p)
}

// A path leads to a value in a file. It becomes text only for a message.
type path []struct {
	key string // or, if empty,
	i   int
}

func (p path) key(name string) path { return append(p, path{{key: name}}...) }
func (p path) index(i int) path     { return append(p, path{{i: i}}...) }

func (p path) errorf(format string, args ...any) error {
	var b strings.Builder
	for k, step := range p {
		switch {
		case step.key == "":
			fmt.Fprintf(&b, "[%d]", step.i)
		case k == 0:
			b.WriteString(step.key)
		default:
			b.WriteString("." + step.key)
		}
	}
	return fmt.Errorf("%s "+format, append([]any{&b}, args...)...)
}

func decodeValue(text []byte, v reflect.Value, p path) error {
	text = bytes.TrimSpace(text)
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(text)
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if string(text) == "null" {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(text, v.Elem(), p)
	case reflect.Float64:
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return p.errorf("is %s, not a number", shorten(text))
		}
		v.SetFloat(x)
	case reflect.Int:
		x, err := strconv.Atoi(string(text))
		if err != nil {
			return p.errorf("is %s, not a whole number", shorten(text))
		}
		v.SetInt(int64(x))
	case reflect.String:
		var s string
		if text[0] != '"' || json.Unmarshal(text, &s) != nil {
			return p.errorf("is %s, not a string", shorten(text))
		}
		v.SetString(s)
	case reflect.Slice:
		var elements []json.RawMessage
		if text[0] != '[' || json.Unmarshal(text, &elements) != nil {
			return p.errorf("is %s, not an array", shorten(text))
		}
		v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
		for i, e := range elements {
			if err := decodeValue(e, v.Index(i), p.index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return decodeStruct(text, v, p)
	default:
		panic("qta: vectors have no " + v.Type().String())
	}
	return nil
}

func decodeStruct(text []byte, v reflect.Value, p path) error {
	if text[0] != '{' {
		return p.errorf("is %s, not an object", shorten(text))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	members := map[string]json.RawMessage{}
	d.Token() // the brace
	for d.More() {
		key, _ := d.Token()
		var member json.RawMessage
		if err := d.Decode(&member); err != nil {
			return p.errorf("is not JSON: %w", err)
		}
		name := fmt.Sprint(key)
		if members[name] != nil {
			return p.errorf("has the key %q twice", name)
		}
		members[name] = member
	}
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		member, ok := members[name]
		delete(members, name)
		if !ok && option == "omitempty" {
			continue
		} else if !ok {
			return p.errorf("lacks the key %q", name)
		}
		if err := decodeValue(member, v.Field(i), p.key(name)); err != nil {
			return err
		}
	}
	if len(members) > 0 {
		return p.errorf("has an unknown key %q", slices.Min(slices.Collect(maps.Keys(members))))
	}
	return nil
}

// shorten returns the start of text, for a message.
func shorten(text []byte) string {
	if len(text) > 24 {
		return string(text[:20]) + " ..."
	}
	return string(text)
}

// The forms of networks in vectors: a net is its layers from the input on.
type (
	vectorLayer struct {
		W [][]float64 `json:"w"` // in by out
		B []float64   `json:"b"`
	}
	vectorNet []vectorLayer
)

// table returns rows as a matrix, after checking that there are any and that
// all have cols elements, or with cols 0 as many as the first, at least one.
func table(name string, rows [][]float64, cols int) matrix {
	if len(rows) == 0 || len(rows[0]) == 0 {
		fail("in.%s is empty", name)
	}
	if cols == 0 {
		cols = len(rows[0])
	}
	m := newMatrix(len(rows), cols)
	for i, row := range rows {
		if len(row) != cols {
			fail("in.%s[%d] has %d elements, want %d", name, i, len(row), cols)
		}
		for j, v := range row {
			m.data[i*cols+j] = float32(v)
		}
	}
	return m
}

// wantLength fails unless the vector or list called name has n elements.
func wantLength(name string, got, n int) {
	if got != n {
		fail("in.%s has %d elements, want %d", name, got, n)
	}
}

// batchTable is table for a batch of rows.
func batchTable(name string, rows [][]float64, n int) matrix {
	wantLength(name, len(rows), n)
	return table(name, rows, 0)
}

// join returns the matrices side by side, as many rows as the first has.
func join(parts ...matrix) matrix {
	cols := 0
	for _, p := range parts {
		cols += p.cols
	}
	x := newMatrix(parts[0].rows, cols)
	at := 0
	for _, p := range parts {
		setColumns(x, at, p)
		at += p.cols
	}
	return x
}

// load sets a layer to the file's, after comparing the shapes.
func (l layer) load(name string, v vectorLayer) {
	wantLength(name+".w", len(v.W), l.w.rows)
	copy(l.w.data, table(name+".w", v.W, l.w.cols).data)
	wantLength(name+".b", len(v.B), len(l.b))
	for i, x := range v.B {
		l.b[i] = float32(x)
	}
}

// widths returns a net's layer widths from input to output.
func (n vectorNet) widths(name string) []int {
	if len(n) == 0 {
		fail("in.%s is empty", name)
	}
	var widths []int
	for i, l := range n {
		w := table(fmt.Sprintf("%s[%d].w", name, i), l.W, 0)
		if i == 0 {
			widths = append(widths, w.rows)
		}
		widths = append(widths, w.cols)
	}
	return widths
}

// wantInput fails unless the net called name, of the given widths, takes in
// inputs of the width.
func wantInput(name string, widths []int, width int) {
	if widths[0] != width {
		fail("in.%s takes %d inputs, the others make %d", name, widths[0], width)
	}
}

func (m *mlp) load(name string, n vectorNet) {
	wantLength(name, len(n), len(m.layers))
	for i, l := range n {
		m.layers[i].load(fmt.Sprintf("%s[%d]", name, i), l)
	}
}

// network returns the net as an mlp.
func (n vectorNet) network(name string) *mlp {
	widths := n.widths(name)
	m := newMLP(make([]float32, mlpSize(widths)), widths)
	m.load(name, n)
	return m
}

// vector returns the form of a layer, a net, a row, and a matrix in a file.
func (l layer) vector() vectorLayer { return vectorLayer{rowsOf64(l.w), float64s(l.b)} }

func (m *mlp) vector() vectorNet {
	var n vectorNet
	for _, l := range m.layers {
		n = append(n, l.vector())
	}
	return n
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func rowsOf64(m matrix) [][]float64 {
	y := make([][]float64, m.rows)
	for i := range y {
		y[i] = float64s(m.row(i))
	}
	return y
}

// ensemble returns the critics of a file as an ensemble for batches of up to
// rows. Without heads, these are of zeros and one column.
func ensemble(p Params, critics []vectorNet, heads []vectorLayer, rows int) *pun {
	if len(critics) == 0 {
		fail("in.critics is empty")
	}
	widths := critics[0].widths("critics[0]")
	if out := widths[len(widths)-1]; out != 1 {
		fail("in.critics[0] ends in %d outputs, want 1", out)
	}
	prediction := 1
	if heads != nil {
		wantLength("heads", len(heads), len(critics))
		prediction = table("heads[0].w", heads[0].W, 0).cols
	}
	p.Critics = len(critics)
	a := newArchitecture(&p, Sizes{Observation: prediction, Goal: prediction})
	u := newEnsemble(&p, widths[:len(widths)-1], a, nil)
	u.depart(&p)
	u.reserve(rows)
	for i, c := range u.critics {
		c.q.load(fmt.Sprintf("critics[%d]", i), critics[i])
		if heads != nil {
			c.head.load(fmt.Sprintf("heads[%d]", i), heads[i])
		}
	}
	return u
}

// wantActor fails unless the actor's widths fit states and goals of inputs
// numbers in all, and actions of the rest of the critics' input.
func wantActor(name string, widths []int, inputs int, critics []vectorNet) {
	wantInput(name, widths, inputs)
	wantInput("critics[0]", critics[0].widths("critics[0]"), inputs+widths[len(widths)-1])
}

// scripted is a source whose generator's Float64 returns given numbers. Each is
// below 1.
type scripted []float64

func (s *scripted) Uint64() uint64 {
	u := (*s)[0]
	*s = (*s)[1:]
	return uint64(u * (1 << 53))
}

// pairScript makes drawPair return M from n critics.
func pairScript(M []int, n int) stream {
	wantLength("M", len(M), 2)
	i, j := M[0], M[1]
	if min(i, j) < 0 || max(i, j) >= n || i == j {
		fail("in.M is %v, want two different indices of %d critics", M, n)
	}
	if j > i {
		j--
	}
	return stream{Rand: rand.New(&scripted{(float64(i) + 0.5) / float64(n), (float64(j) + 0.5) / float64(n-1)})}
}

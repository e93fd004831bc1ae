package qta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// This file holds the code against vectors: numbers that another implementation
// computed. A file of vectors is JSON,
//
//	{"equation": NAME, "paper": WHAT, "cases": [
//		{"name": ..., "in": {...}, "out": {...}, "tol": T}, ...]}
//
// and a result r holds against the e of "out" where |r-e| <= T (1 + |e|). Sizes
// are free, names are not: a key that is missing or that nobody reads is an
// error. The functions called are those that training calls.

// A CheckResult says whether the code holds to one case of a file of vectors.
type CheckResult struct {
	File     string
	Equation string // the file's "equation"
	Case     string
	Numbers  []int  // the equations of the paper that it concerns, if any
	Function string // the function, or functions, held to the vectors

	Err       error   // what does not hold, or nil
	Worst     float64 // largest |r-e| / (1 + |e|) of the case
	Tolerance float64 // T
}

// Check holds the code against every case of every file *.json at the top of
// fsys. The results are in the order of the files' names and of the cases. The
// error is about files that are not vectors; a case whose numbers are wrong or
// of impossible shapes has its error in its result. The golden vectors are
// those of the package qta/testdata, whose README describes the format.
func Check(fsys fs.FS) ([]CheckResult, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, fmt.Errorf("qta: vectors: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("qta: vectors: there is no file *.json")
	}
	var results []CheckResult
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return results, fmt.Errorf("qta: vectors: %w", err)
		}
		file, err := checkFile(name, text)
		if err != nil {
			return results, fmt.Errorf("qta: vectors: %s: %w", name, err)
		}
		results = append(results, file...)
	}
	return results, nil
}

// equation is one kind of vectors.
type equation struct {
	name     string
	numbers  []int  // of the paper's equations
	function string // the home, or the homes
	check    checker
}

// A checker runs one case.
type checker func(in, out json.RawMessage, tolerance float64) (worst float64, err error)

// equations lists all kinds.
func equations() []equation {
	return []equation{
		{"mlp-forward", nil, "mlp.forward", checking(checkForward)},
		{"mlp-backward", nil, "mlp.backward", checking(checkBackward)},
		{"adam", nil, "adam.step", checking(checkAdam)},
		{"td-target", []int{1}, "TDTarget", checking(checkTarget)},
		{"td-target-networks", []int{1}, "Agent.target", checking(checkTargetNetworks)},
		{"critic-loss", []int{2}, "CriticLoss", checking(checkCriticLoss)},
		{"polyak", []int{3}, "Polyak", checking(checkPolyak)},
		{"policy-gradient", nil, "policy.learn", checking(checkPolicyGradient)},
		{"predictive-loss", []int{4}, "PredictiveLoss", checking(checkPredictiveLoss)},
		{"uncertainty-std", []int{5}, "HeadDeviation", checking(checkDeviation)},
		{"uncertainty", []int{5}, "pun.uncertainty", checking(checkUncertainty)},
		{"goal-probability", []int{6}, "GoalProbabilities", checking(checkGoalProbability)},
		{"achievable", nil, "Achievable", checking(checkAchievable)},
		{"per", []int{7, 8}, "SampleProbabilities, ImportanceWeights, replay.importance", checking(checkPriorities)},
		{"per-beta", nil, "PriorityBeta", checking(checkBeta)},
		{"her", nil, "replay.draw", checking(checkHindsight)},
		{"her-future", nil, "futureStep", checking(checkFuture)},
		{"optimal-return", nil, "OptimalReturn", checking(checkOptimalReturn)},
		{"update", nil, "Agent.learn", checking(checkUpdate)},
		{"gaussian-nll", nil, "GaussianLoss", checking(checkGaussianLoss)},
		{"vds", nil, "valueDisagreement, vdsProbabilities", checking(checkVDS)},
		{"kde", nil, "logDensity", checking(checkDensity)},
	}
}

// checkFile runs the cases of one file.
func checkFile(name string, text []byte) ([]CheckResult, error) {
	var file struct {
		Equation string            `json:"equation"`
		Paper    string            `json:"paper"`
		Cases    []json.RawMessage `json:"cases"`
	}
	if err := decode(text, &file, "the file"); err != nil {
		return nil, err
	}
	all := equations()
	k := slices.IndexFunc(all, func(e equation) bool { return e.name == file.Equation })
	if k < 0 {
		known := make([]string, len(all))
		for i, e := range all {
			known[i] = e.name
		}
		return nil, fmt.Errorf("unknown equation %q; known are %s", file.Equation, strings.Join(known, ", "))
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}
	var results []CheckResult
	seen := map[string]bool{}
	for i, raw := range file.Cases {
		var c struct {
			Name string          `json:"name"`
			In   json.RawMessage `json:"in"`
			Out  json.RawMessage `json:"out"`
			Tol  float64         `json:"tol"`
		}
		if err := decode(raw, &c, fmt.Sprintf("cases[%d]", i)); err != nil {
			return nil, err
		}
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("cases[%d]: the name %q is empty or another case's", i, c.Name)
		}
		seen[c.Name] = true
		if !(c.Tol >= 0 && c.Tol <= 0.01) {
			return nil, fmt.Errorf("case %q: tol is %v, allowed are 0 to 0.01", c.Name, c.Tol)
		}
		e := all[k]
		r := CheckResult{File: name, Equation: e.name, Case: c.Name, Numbers: e.numbers, Function: e.function, Tolerance: c.Tol}
		if r.Worst, r.Err = e.check(c.In, c.Out, c.Tol); r.Err != nil {
			r.Err = fmt.Errorf("qta: vectors: %s: case %q: %w", name, c.Name, r.Err)
		}
		results = append(results, r)
	}
	return results, nil
}

// checking makes a checker of a function from the struct of a case's "in" to
// that of its "out". The function ends by fail where "in" makes no sense.
func checking[In, Out any](f func(In) Out) checker {
	return func(in, out json.RawMessage, tolerance float64) (worst float64, err error) {
		defer func() {
			if r := recover(); r != nil {
				e, ok := r.(badVector)
				if !ok {
					panic(r)
				}
				err = e
			}
		}()
		var i In
		var want Out
		if err := decode(in, &i, "in"); err != nil {
			return 0, err
		}
		if err := decode(out, &want, "out"); err != nil {
			return 0, err
		}
		c := comparison{tolerance: tolerance}
		c.compare(reflect.ValueOf(f(i)), reflect.ValueOf(want), path{{key: "out"}})
		if c.numbers == 0 {
			c.fail(path{{key: "out"}}, "has no numbers")
		}
		return c.worst, c.err
	}
}

// badVector is what is wrong with a case.
type badVector string

func (e badVector) Error() string { return string(e) }

func fail(format string, args ...any) { panic(badVector(fmt.Sprintf(format, args...))) }

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

// A comparison of results with what they should be.
type comparison struct {
	tolerance float64
	numbers   int // compared
	worst     float64
	err       error // the first that does not hold
}

func (c *comparison) compare(got, want reflect.Value, p path) {
	switch got.Kind() {
	case reflect.Struct:
		for i := range got.NumField() {
			name, _, _ := strings.Cut(got.Type().Field(i).Tag.Get("json"), ",")
			c.compare(got.Field(i), want.Field(i), p.key(name))
		}
	case reflect.Slice:
		if got.Len() != want.Len() {
			c.fail(p, "has %d elements in the file, the code gives %d", want.Len(), got.Len())
			return
		}
		for i := range got.Len() {
			c.compare(got.Index(i), want.Index(i), p.index(i))
		}
	case reflect.Int:
		c.number(float64(got.Int()), float64(want.Int()), p)
	default:
		c.number(got.Float(), want.Float(), p)
	}
}

func (c *comparison) number(r, e float64, p path) {
	distance := math.Abs(r-e) / (1 + math.Abs(e))
	c.numbers++
	c.worst = max(c.worst, distance) // NaN if either is
	if !(distance <= c.tolerance) {
		c.fail(p, "is %v in the file, the code gives %v; |r-e| / (1 + |e|) is %.3g, allowed are %v", e, r, distance, c.tolerance)
	}
}

func (c *comparison) fail(p path, format string, args ...any) {
	if c.err == nil {
		c.err = p.errorf(format, args...)
	}
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
	u := newEnsemble(p, slices.Clip(widths[:len(widths)-1]), prediction)
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

type forwardIn struct {
	Net    vectorNet   `json:"net"`
	X      [][]float64 `json:"x"`
	Output string      `json:"output,omitempty"`
}

// forward returns what a net's forward pass leaves behind, its output after the
// tanh where there is one.
func (in forwardIn) forward() (net *mlp, p *pass, x, ξ, y matrix) {
	if in.Output != "" && in.Output != "tanh" {
		fail("in.output is %q, allowed is tanh", in.Output)
	}
	net, x = in.Net.network("net"), table("x", in.X, 0)
	widths := in.Net.widths("net")
	wantInput("net", widths, x.cols)
	if in.Output == "tanh" {
		π := newActor(widths)
		y = π.act(nil, net, x)
		p, ξ = π.pass, net.latent(nil, π.pass, x)
		return net, p, x, ξ, y
	}
	p = newPass(widths)
	ξ = net.latent(nil, p, x)
	return net, p, x, ξ, net.final(nil, p, ξ)
}

func checkForward(in forwardIn) (out struct {
	Xi [][]float64 `json:"xi"`
	Y  [][]float64 `json:"y"`
}) {
	_, _, _, ξ, y := in.forward()
	out.Xi, out.Y = rowsOf64(ξ), rowsOf64(y)
	return out
}

func checkBackward(in struct {
	Net    vectorNet   `json:"net"`
	X      [][]float64 `json:"x"`
	Dy     [][]float64 `json:"dy"`
	Output string      `json:"output,omitempty"`
}) (out struct {
	Grad vectorNet   `json:"grad"`
	Dx   [][]float64 `json:"dx"`
}) {
	net, p, x, _, y := forwardIn{in.Net, in.X, in.Output}.forward()
	wantLength("dy", len(in.Dy), x.rows)
	dy := table("dy", in.Dy, y.cols)
	last := len(net.layers)
	for i, v := range dy.data {
		if in.Output == "tanh" {
			v *= 1 - float32(y.data[i]*y.data[i])
		}
		p.dx[last].data[i] = v
	}
	widths := in.Net.widths("net")
	gradient := newMLP(make([]float32, mlpSize(widths)), widths)
	net.backward(nil, p, gradient, x, last)
	out.Grad, out.Dx = gradient.vector(), rowsOf64(net.inputGradient(p, x.rows))
	return out
}

func checkAdam(in struct {
	W     []float64   `json:"w"`
	Grads [][]float64 `json:"grads"`
	Rate  float64     `json:"lr"`
	Beta1 float64     `json:"beta1"`
	Beta2 float64     `json:"beta2"`
	Eps   float64     `json:"eps"`
}) (out struct {
	W [][]float64 `json:"w"`
}) {
	if in.Beta1 != adamBeta1 || in.Beta2 != adamBeta2 || in.Eps != adamEpsilon {
		fail("in has beta1 %v, beta2 %v and eps %v, allowed are %v, %v and %v", in.Beta1, in.Beta2, in.Eps, adamBeta1, adamBeta2, adamEpsilon)
	}
	if len(in.W) == 0 {
		fail("in.w is empty")
	}
	gradients := table("grads", in.Grads, len(in.W))
	params, a := float32s(in.W), newAdam(len(in.W))
	for t := range gradients.rows {
		a.step(nil, params, gradients.row(t), in.Rate, 0)
		out.W = append(out.W, float64s(params))
	}
	return out
}

func checkTarget(in struct {
	R       []float64   `json:"r"`
	Gamma   float64     `json:"gamma"`
	QTarget [][]float64 `json:"q_target"`
	M       []int       `json:"M"`
}) (out struct {
	Y []float64 `json:"y"`
}) {
	if len(in.R) == 0 {
		fail("in.r is empty")
	}
	q := table("q_target", in.QTarget, len(in.R))
	i, j := drawPair(pairScript(in.M, q.rows), q.rows)
	y := make([]float32, len(in.R))
	TDTarget(y, float32s(in.R), q.row(i), q.row(j), in.Gamma)
	out.Y = float64s(y)
	return out
}

func checkTargetNetworks(in struct {
	Actor   vectorNet   `json:"actor"`
	Critics []vectorNet `json:"critics"`
	SNext   [][]float64 `json:"s_next"`
	G       [][]float64 `json:"g"`
	R       []float64   `json:"r"`
	Gamma   float64     `json:"gamma"`
	M       []int       `json:"M"`
}) (out struct {
	ANext [][]float64 `json:"a_next"`
	Y     []float64   `json:"y"`
}) {
	s := table("s_next", in.SNext, 0)
	g := batchTable("g", in.G, s.rows)
	wantLength("r", len(in.R), s.rows)
	widths := in.Actor.widths("actor")
	a := &Agent{params: unclipped(), policy: newActor(widths), pun: ensemble(Paper(), in.Critics, nil, s.rows)}
	a.params.Discount = in.Gamma
	wantActor("actor", widths, s.cols+g.cols, in.Critics)
	a.sizes = Sizes{s.cols, g.cols, a.policy.actions.cols}
	a.policy.target.load("actor", in.Actor)
	for i, t := range a.pun.targets {
		t.load(fmt.Sprintf("critics[%d]", i), in.Critics[i])
	}
	a.learning = pairScript(in.M, len(in.Critics))
	b := batch{next: join(s, g, newMatrix(s.rows, a.sizes.Action)), r: float32s(in.R), y: [][]float32{make([]float32, s.rows)}}
	a.target(&b)
	out.ANext, out.Y = rowsOf64(b.next.columns(s.cols+g.cols, b.next.cols)), float64s(b.y[0])
	return out
}

// unclipped returns [Paper] without what Equation 1 does not have.
func unclipped() Params {
	p := Paper()
	p.ClipReturns = false
	return p
}

func checkCriticLoss(in struct {
	Critics []vectorNet `json:"critics"`
	S       [][]float64 `json:"s"`
	G       [][]float64 `json:"g"`
	A       [][]float64 `json:"a"`
	Y       []float64   `json:"y"`
	W       []float64   `json:"w,omitempty"`
}) (out struct {
	Loss []float64   `json:"loss"`
	Grad []vectorNet `json:"grad"`
}) {
	x := transitions(in.S, in.G, in.A)
	wantLength("y", len(in.Y), x.rows)
	b := batch{x: x, y: [][]float32{float32s(in.Y)}}
	if in.W != nil {
		wantLength("w", len(in.W), x.rows)
		b.weights = [][]float32{float32s(in.W)}
	}
	still := Paper() // rates of zero leave the critics as they are
	still.CriticRate = 0
	still.HeadOwnDraw = true
	for i := range in.Critics {
		u := ensemble(still, in.Critics[i:i+1], nil, x.rows)
		wantInput(fmt.Sprintf("critics[%d]", i), in.Critics[i].widths("critics"), x.cols)
		loss, _ := u.learn(nil, &b, &still, false)
		out.Loss = append(out.Loss, loss)
		out.Grad = append(out.Grad, u.gradient(0).q.vector())
	}
	return out
}

// transitions returns the critics' input, s, g and a side by side.
func transitions(s, g, a [][]float64) matrix {
	x := table("s", s, 0)
	return join(x, batchTable("g", g, x.rows), batchTable("a", a, x.rows))
}

func checkPolyak(in struct {
	Target vectorNet `json:"target"`
	Online vectorNet `json:"online"`
	Rho    float64   `json:"rho"`
}) (out struct {
	Target vectorNet `json:"target"`
}) {
	target, online := in.Target.network("target"), in.Target.network("target")
	online.load("online", in.Online)
	Polyak(target.params, online.params, in.Rho)
	out.Target = target.vector()
	return out
}

func checkPolicyGradient(in struct {
	Actor    vectorNet   `json:"actor"`
	Critics  []vectorNet `json:"critics"`
	S        [][]float64 `json:"s"`
	G        [][]float64 `json:"g"`
	ActionL2 float64     `json:"action_l2"`
}) (out struct {
	Loss float64   `json:"loss"`
	Grad vectorNet `json:"grad"`
}) {
	s := table("s", in.S, 0)
	g := batchTable("g", in.G, s.rows)
	u := ensemble(Paper(), in.Critics, nil, s.rows)
	widths := in.Actor.widths("actor")
	wantActor("actor", widths, s.cols+g.cols, in.Critics)
	π := newActor(widths)
	π.net.load("actor", in.Actor)
	p := Paper()
	p.ActorRate, p.ActionL2 = 0, in.ActionL2
	out.Loss = π.learn(nil, u, join(s, g, newMatrix(s.rows, π.actions.cols)), &p)
	out.Grad = π.gradient.vector()
	return out
}

func checkPredictiveLoss(in struct {
	Form    string        `json:"form"`
	Critics []vectorNet   `json:"critics"`
	Heads   []vectorLayer `json:"heads"`
	S       [][]float64   `json:"s"`
	G       [][]float64   `json:"g"`
	A       [][]float64   `json:"a"`
	SNext   [][]float64   `json:"s_next"`
}) (out struct {
	Pred     [][][]float64 `json:"pred"`
	Loss     []float64     `json:"loss"`
	GradHead []vectorLayer `json:"grad_head"`
	GradXi   [][][]float64 `json:"grad_xi"`
}) {
	still := Paper()
	still.PredictiveRate = 0
	switch in.Form {
	case "mse":
		still.HeadLoss = "squared"
	case "norm":
		still.HeadLoss = "norm"
	default:
		fail("in.form is %q, allowed are mse and norm", in.Form)
	}
	x := transitions(in.S, in.G, in.A)
	next := batchTable("s_next", in.SNext, x.rows)
	wantLength("heads", len(in.Heads), len(in.Critics))
	for i := range in.Critics {
		u := ensemble(still, in.Critics[i:i+1], in.Heads[i:i+1], x.rows)
		widths := in.Critics[i].widths("critics")
		wantInput(fmt.Sprintf("critics[%d]", i), widths, x.cols)
		if u.dp.cols != next.cols {
			fail("in.heads[%d] predicts %d numbers, in.s_next has %d", i, u.dp.cols, next.cols)
		}
		out.Loss = append(out.Loss, u.learnHeads(nil, &batch{x: x, head: next}, &still, false))
		out.Pred = append(out.Pred, rowsOf64(u.prediction[0]))
		out.GradHead = append(out.GradHead, u.gradient(0).head.vector())
		// The vectors have the gradient after the latent's ReLU, so no mask.
		dξ := newMatrix(x.rows, widths[len(widths)-2])
		u.critics[0].head.backwardInput(nil, dξ, u.dp, u.headT, matrix{})
		out.GradXi = append(out.GradXi, rowsOf64(dξ))
	}
	return out
}

func checkDeviation(in struct {
	Pred [][][]float64 `json:"pred"`
}) (out struct {
	U []float64 `json:"u"`
}) {
	var heads [][]float32
	var first matrix
	for i, p := range in.Pred {
		name := fmt.Sprintf("pred[%d]", i)
		if i == 0 {
			first = table(name, p, 0)
		}
		wantLength(name, len(p), first.rows)
		heads = append(heads, table(name, p, first.cols).data)
	}
	wantEnsemble(len(heads))
	out.U = make([]float64, first.rows)
	HeadDeviation(out.U, heads, first.cols)
	return out
}

// wantEnsemble fails unless there are enough heads for a sample deviation.
func wantEnsemble(n int) {
	if n < 2 {
		fail("in has an ensemble of %d, want at least 2", n)
	}
}

func checkUncertainty(in struct {
	Critics []vectorNet   `json:"critics"`
	Heads   []vectorLayer `json:"heads"`
	S       [][]float64   `json:"s"`
	G       [][]float64   `json:"g"`
	Actions [][][]float64 `json:"actions"`
}) (out struct {
	PerAction [][]float64 `json:"per_action"`
	Epsilon   []float64   `json:"epsilon"`
}) {
	wantEnsemble(len(in.Critics))
	s := table("s", in.S, 0)
	g := batchTable("g", in.G, s.rows)
	u := ensemble(Paper(), in.Critics, in.Heads, s.rows)
	wantLength("heads", len(in.Heads), len(in.Critics))
	if len(in.Actions) == 0 {
		fail("in.actions is empty")
	}
	width := table("actions[0]", in.Actions[0], 0).cols
	wantInput("critics[0]", in.Critics[0].widths("critics[0]"), s.cols+g.cols+width)
	actions := newMatrix(len(in.Actions)*s.rows, width)
	heads := make([][]float32, len(in.Critics))
	for j, rows := range in.Actions {
		name := fmt.Sprintf("actions[%d]", j)
		wantLength(name, len(rows), s.rows)
		one := table(name, rows, width)
		copy(actions.slice(j*s.rows, (j+1)*s.rows).data, one.data)
		d := make([]float64, s.rows)
		u.deviation(nil, d, join(s, g, one), heads)
		out.PerAction = append(out.PerAction, d)
	}
	out.Epsilon = make([]float64, s.rows)
	u.uncertainty(nil, out.Epsilon, join(s, g, newMatrix(s.rows, width)), actions)
	return out
}

func checkGoalProbability(in struct {
	Epsilon []float64 `json:"epsilon"`
	M       float64   `json:"m"`
	B       float64   `json:"b"`
}) (out struct {
	Normalized []float64 `json:"normalized"`
	P          []float64 `json:"p"`
}) {
	if len(in.Epsilon) == 0 {
		fail("in.epsilon is empty")
	}
	out.Normalized, out.P = make([]float64, len(in.Epsilon)), make([]float64, len(in.Epsilon))
	scaleUncertainty(out.Normalized, in.Epsilon)
	GoalProbabilities(out.P, in.Epsilon, in.M, in.B)
	return out
}

func checkAchievable(in struct {
	Q []float64 `json:"q_mean"`
	C float64   `json:"c"`
	T int       `json:"T"`
}) (out struct {
	Kept []int `json:"kept"`
}) {
	candidates := make([]int, len(in.Q))
	for k := range candidates {
		candidates[k] = k
	}
	out.Kept = Achievable(candidates, in.Q, in.C, in.T)
	return out
}

func checkPriorities(in struct {
	Priority []float64 `json:"priority"`
	Alpha    float64   `json:"alpha"`
	Beta     float64   `json:"beta"`
}) (out struct {
	P           []float64 `json:"P"`
	W           []float64 `json:"w"`
	WNormalized []float64 `json:"w_normalized"`
}) {
	n := len(in.Priority)
	if n == 0 {
		fail("in.priority is empty")
	}
	out.P, out.W, out.WNormalized = make([]float64, n), make([]float64, n), make([]float64, n)
	SampleProbabilities(out.P, in.Priority, in.Alpha)
	ImportanceWeights(out.W, out.P, n, in.Beta, 0)
	// The normalised ones as training has them, by way of the tree.
	b, transitions := newReplay(Sizes{}, n), make([]int, n)
	b.n = n
	for i, p := range in.Priority {
		transitions[i] = i
		b.setWeight(i, pow(p, in.Alpha))
	}
	b.importance(out.WNormalized, make([]float64, n), transitions, in.Beta)
	return out
}

func checkBeta(in struct {
	Initial float64 `json:"beta_initial"`
	Steps   int     `json:"beta_steps"`
	T       []int   `json:"t"`
}) (out struct {
	Beta []float64 `json:"beta"`
}) {
	for _, t := range in.T {
		out.Beta = append(out.Beta, PriorityBeta(t, in.Initial, in.Steps))
	}
	return out
}

func checkHindsight(in struct {
	AchievedNext [][]float64 `json:"achieved_next"`
	Goal         []float64   `json:"goal"`
	I            int         `json:"i"`
	Future       *int        `json:"future"`
	Radius       float64     `json:"radius"`
}) (out struct {
	G []float64 `json:"g"`
	R float64   `json:"r"`
}) {
	n := len(in.AchievedNext)
	wantLength("goal", len(in.Goal), 2)
	table("achieved_next", in.AchievedNext, 2)
	if in.I < 0 || in.I >= n {
		fail("in.i is %d, allowed are 0 to %d", in.I, n-1)
	}
	b := newReplay(Sizes{Observation: 1, Goal: 2, Action: 1}, n)
	for _, achieved := range in.AchievedNext {
		b.add([]float64{0}, achieved, []float64{0}, in.Goal, State{Observation: []float64{0}, Achieved: achieved})
	}
	const k = 4
	script := scripted{0.9, 0} // above k/(k+1), so the goal pursued
	if in.Future != nil {
		if *in.Future < in.I || *in.Future >= n {
			fail("in.future is %d, allowed are %d to %d", *in.Future, in.I, n-1)
		}
		script = scripted{0, (float64(*in.Future-in.I) + 0.5) / float64(n-in.I)}
	}
	out.G = b.draw(in.I, k, rand.New(&script))
	// Distances in units of the mazes' radius.
	achieved, goal := make([]float64, 2), make([]float64, 2)
	for c := range achieved {
		achieved[c], goal[c] = at(b.nextAchieved, in.I, 2)[c]*(goalRadius/in.Radius), out.G[c]*(goalRadius/in.Radius)
	}
	out.R = new(MazeEnv).Reward(achieved, goal)
	return out
}

func checkFuture(in struct {
	I int     `json:"i"`
	N int     `json:"n"`
	U float64 `json:"u"`
}) (out struct {
	Future int `json:"future"`
}) {
	if !(0 <= in.I && in.I < in.N && 0 <= in.U && in.U < 1) {
		fail("in has i %d, n %d and u %v, allowed are 0 <= i < n and 0 <= u < 1", in.I, in.N, in.U)
	}
	out.Future = futureStep(in.I, in.N, in.U)
	return out
}

func checkOptimalReturn(in struct {
	Hops  []int   `json:"hops"`
	Gamma float64 `json:"gamma"`
}) (out struct {
	Undiscounted []float64 `json:"undiscounted"`
	Discounted   []float64 `json:"discounted"`
}) {
	for i, h := range in.Hops {
		if h < 0 || h > 10000 {
			fail("in.hops[%d] is %d, allowed are 0 to 10000", i, h)
		}
		out.Undiscounted = append(out.Undiscounted, OptimalReturn(h))
		out.Discounted = append(out.Discounted, OptimalValue(in.Gamma, h))
	}
	return out
}

// trained is every network of an agent.
type trained struct {
	Actor         vectorNet     `json:"actor"`
	ActorTarget   vectorNet     `json:"actor_target"`
	Critics       []vectorNet   `json:"critics"`
	CriticTargets []vectorNet   `json:"critic_targets"`
	Heads         []vectorLayer `json:"heads"`
}

func checkUpdate(in struct {
	Actor          vectorNet     `json:"actor"`
	ActorTarget    vectorNet     `json:"actor_target"`
	Critics        []vectorNet   `json:"critics"`
	CriticTargets  []vectorNet   `json:"critic_targets"`
	Heads          []vectorLayer `json:"heads"`
	Gamma          float64       `json:"gamma"`
	Rho            float64       `json:"rho"`
	ActorRate      float64       `json:"lr_actor"`
	CriticRate     float64       `json:"lr_critic"`
	PredictiveRate float64       `json:"lr_predictive"`
	ActionL2       float64       `json:"action_l2"`
	Steps          []struct {
		S     [][]float64 `json:"s"`
		G     [][]float64 `json:"g"`
		A     [][]float64 `json:"a"`
		SNext [][]float64 `json:"s_next"`
		R     []float64   `json:"r"`
		M     []int       `json:"M"`
	} `json:"steps"`
}) (out trained) {
	p := unclipped()
	p.Discount, p.Polyak, p.ActionL2 = in.Gamma, in.Rho, in.ActionL2
	p.ActorRate, p.CriticRate, p.PredictiveRate = in.ActorRate, in.CriticRate, in.PredictiveRate
	rows := 1
	for _, step := range in.Steps {
		rows = max(rows, len(step.S))
	}
	a := &Agent{params: p, pun: ensemble(p, in.Critics, in.Heads, rows)}
	wantLength("heads", len(in.Heads), len(in.Critics))
	wantLength("critic_targets", len(in.CriticTargets), len(in.Critics))
	for i, t := range a.pun.targets {
		t.load(fmt.Sprintf("critic_targets[%d]", i), in.CriticTargets[i])
	}
	widths := in.Actor.widths("actor")
	a.policy = newActor(widths)
	a.policy.net.load("actor", in.Actor)
	a.policy.target.load("actor_target", in.ActorTarget)

	for i, step := range in.Steps {
		x := transitions(step.S, step.G, step.A)
		next := batchTable("steps.s_next", step.SNext, x.rows)
		a.sizes = Sizes{len(step.S[0]), len(step.G[0]), len(step.A[0])}
		wantActor("actor", widths, a.sizes.Observation+a.sizes.Goal, in.Critics)
		wantInput("critics[0]", in.Critics[0].widths("critics[0]"), x.cols)
		if next.cols != a.sizes.Observation || next.cols != a.pun.dp.cols {
			fail("in.steps[%d].s_next has rows of %d, in.steps[%d].s of %d and the heads' predictions %d", i, next.cols, i, a.sizes.Observation, a.pun.dp.cols)
		}
		wantLength("steps.r", len(step.R), x.rows)
		a.learning = pairScript(step.M, len(in.Critics))
		a.scratch.batch = batch{
			x:    x,
			next: join(next, table("steps.g", step.G, 0), newMatrix(x.rows, a.sizes.Action)),
			r:    float32s(step.R), y: [][]float32{make([]float32, x.rows)},
			head: next,
		}
		a.learn(nil)
	}

	out.Actor, out.ActorTarget = a.policy.net.vector(), a.policy.target.vector()
	for i, c := range a.pun.critics {
		out.Critics = append(out.Critics, c.q.vector())
		out.CriticTargets = append(out.CriticTargets, a.pun.targets[i].vector())
		out.Heads = append(out.Heads, c.head.vector())
	}
	return out
}

func checkGaussianLoss(in struct {
	Mu  []float64 `json:"mu"`
	Raw []float64 `json:"raw"`
	Y   []float64 `json:"y"`
}) (out struct {
	Loss    float64   `json:"loss"`
	GradMu  []float64 `json:"grad_mu"`
	GradRaw []float64 `json:"grad_raw"`
}) {
	n := len(in.Mu)
	if n == 0 {
		fail("in.mu is empty")
	}
	wantLength("raw", len(in.Raw), n)
	wantLength("y", len(in.Y), n)
	p, dp := newMatrix(n, 2), newMatrix(n, 2)
	for r := range n {
		p.row(r)[0], p.row(r)[1] = float32(in.Mu[r]), float32(in.Raw[r])
	}
	out.Loss = GaussianLoss(dp.data, p.data, float32s(in.Y), 1)
	for r := range n {
		out.GradMu = append(out.GradMu, float64(dp.row(r)[0]))
		out.GradRaw = append(out.GradRaw, float64(dp.row(r)[1]))
	}
	return out
}

func checkVDS(in struct {
	Q [][]float64 `json:"q"`
}) (out struct {
	Std []float64 `json:"std"`
	P   []float64 `json:"p"`
}) {
	q := table("q", in.Q, 0)
	var members [][]float32
	for i := range q.rows {
		members = append(members, q.row(i))
	}
	out.Std, out.P = make([]float64, q.cols), make([]float64, q.cols)
	valueDisagreement(out.Std, members)
	vdsProbabilities(out.P, out.Std, "identity")
	return out
}

func checkDensity(in struct {
	Points    [][]float64 `json:"points"`
	Query     [][]float64 `json:"query"`
	Bandwidth float64     `json:"bandwidth"`
}) (out struct {
	LogDensity []float64 `json:"log_density"`
}) {
	width := table("points", in.Points, 0).cols
	table("query", in.Query, width)
	points := slices.Concat(in.Points...)
	scratch := make([]float64, len(in.Points))
	for _, x := range in.Query {
		out.LogDensity = append(out.LogDensity, logDensity(points, x, in.Bandwidth, scratch))
	}
	return out
}

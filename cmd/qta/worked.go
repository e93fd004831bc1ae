package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"qta"
)

// This file works the paper's equations through in numbers, one golden case
// each. What it shows is computed "by hand", as naively as the text says it, in
// float64 and without package qta; the results stand beside those of the
// package's functions and of the golden vectors. Indices count from 1, as the
// paper's do.

// A workedEquation is an equation and the golden case that it is shown with.
type workedEquation struct {
	title, formula string
	function       string // of package qta
	equation, name string // of the golden case
	work           func(s *sheet, c goldenCase)
}

// workedEquations returns all, Equation 1 first.
func workedEquations() []workedEquation {
	return []workedEquation{
		{"the critics' target (Section 3.1)", "y = r + γ min_{i in M} Q_targ,i(s', a', g'),  a' = π_targ(s', g')",
			"TDTarget", "td-target-networks", "M=[1,2]", workTarget},
		{"the critics' loss (Section 3.1)", "1/|B| Σ (Q(s, a, g) - y)²",
			"CriticLoss", "critic-loss", "unweighted", workCriticLoss},
		{"the target networks (Section 3.1)", "φ_targ = ρ φ_targ + (1 - ρ) φ",
			"Polyak", "polyak", "rho=0.95", workPolyak},
		{"the predictive loss (Section 3.1)", "L = 1/|B| Σ |s' - P(ξ)|²",
			"PredictiveLoss", "predictive-loss", "mse", workPredictiveLoss},
		{"the uncertainty (Section 3.2)", "ε = 1/d Σ_j std_i P_i(Q_backbone,i(s, a_j, g))",
			"HeadDeviation", "uncertainty", "d=4", workUncertainty},
		{"the probability of a goal (Section 3.2)", "p_k = max(m ε_k + b, 0) / Σ_k max(m ε_k + b, 0)",
			"GoalProbabilities", "goal-probability", "two near the top", workGoalProbabilities},
		{"the probability of a transition (Section 3.3)", "P(j) = p_j^α / Σ_j p_j^α",
			"SampleProbabilities", "per", "alpha=0.6 beta=0.3", workSampleProbabilities},
		{"the importance weights (Section 3.3)", "w_j = (1/N · 1/P(j))^β, and w_j / max_j w_j",
			"ImportanceWeights", "per", "alpha=0.6 beta=0.3", workImportanceWeights},
	}
}

// A goldenCase is a case of the golden vectors.
type goldenCase struct {
	Name    string
	In, Out json.RawMessage
	Tol     float64
}

// read sets in and out to what the case has under the names of their fields.
// Package qta has found all of it to be there and of the right shapes.
func (c goldenCase) read(in, out any) {
	if err := json.Unmarshal(c.In, in); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(c.Out, out); err != nil {
		panic(err)
	}
}

func findGolden(golden fs.FS, equation, name string) (goldenCase, error) {
	text, err := fs.ReadFile(golden, equation+".json")
	if err != nil {
		return goldenCase{}, err
	}
	var file struct{ Cases []goldenCase }
	if err := json.Unmarshal(text, &file); err != nil {
		return goldenCase{}, err
	}
	for _, c := range file.Cases {
		if c.Name == name {
			return c, nil
		}
	}
	return goldenCase{}, fmt.Errorf("the golden vectors of %s have no case %q", equation, name)
}

// workThrough writes the equation of the given number, or all for 0, and
// returns how many results do not hold.
func workThrough(w io.Writer, golden fs.FS, number int) (apart int, err error) {
	for i, e := range workedEquations() {
		if number > 0 && i+1 != number {
			continue
		}
		c, err := findGolden(golden, e.equation, e.name)
		if err != nil {
			return apart, err
		}
		s := &sheet{w: w, tolerance: c.Tol}
		fmt.Fprintf(w, "Equation %d: %s\n\n", i+1, e.title)
		s.say("%s\n", e.formula)
		s.say("worked through with %s.json, case %q; code is %s.", e.equation, e.name, e.function)
		e.work(s, c)
		s.conclude()
		apart += s.apart
	}
	return apart, nil
}

// A sheet is the working of one equation.
type sheet struct {
	w         io.Writer
	tolerance float64
	results   []compared
	apart     int // results that do not hold
}

// Compared is a number computed by hand, by the code, where an exported
// function of package qta does, and in another framework.
type compared struct {
	name               string
	hand, code, golden float64
	noCode             bool
}

func (s *sheet) say(format string, args ...any) {
	fmt.Fprintf(s.w, "  "+format+"\n", args...)
}

// line ends a paragraph.
func (s *sheet) line() { fmt.Fprintln(s.w) }

func (s *sheet) result(hand, code, golden float64, format string, args ...any) {
	s.results = append(s.results, compared{fmt.Sprintf(format, args...), hand, code, golden, false})
}

// byHand is result where only networks within package qta have the number.
func (s *sheet) byHand(hand, golden float64, format string, args ...any) {
	s.results = append(s.results, compared{fmt.Sprintf(format, args...), hand, hand, golden, true})
}

// numbers returns x as text, to nine digits.
func numbers(x ...float64) string {
	text := make([]string, len(x))
	for i, v := range x {
		text[i] = fmt.Sprintf("%.9g", v+0) // no -0
	}
	return strings.Join(text, ", ")
}

// table writes rows of numbers, each after its name, under headings with tabs
// between them.
func (s *sheet) table(headings string, rows []numberRow) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, headings+"\t")
	for _, r := range rows {
		fmt.Fprint(t, r.name+"\t")
		for _, v := range r.x {
			fmt.Fprint(t, numbers(v)+"\t")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	fmt.Fprintf(s.w, "\n%s", b.String())
}

type numberRow struct {
	name string
	x    []float64
}

func row(name string, x ...float64) numberRow { return numberRow{name, x} }

// conclude writes the results and counts those that do not hold.
func (s *sheet) conclude() {
	t := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\n  result\tby hand\tcode\tgolden\tdifference\tverdict\n")
	for _, r := range s.results {
		allowed := s.tolerance * (1 + math.Abs(r.golden))
		code, verdict := numbers(r.code), "holds"
		if r.noCode {
			code = "-"
		}
		if !(math.Abs(r.code-r.golden) <= allowed && math.Abs(r.hand-r.golden) <= allowed) {
			s.apart++
			verdict = "DOES NOT HOLD"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", r.name, numbers(r.hand), code, numbers(r.golden), distance(r.code-r.golden), verdict)
	}
	t.Flush()
	s.line()
	s.say("difference = code - golden (by hand - golden where code is -); %v (1 + |golden|) is allowed.\n", s.tolerance)
}

// distance returns d to two digits, or no more than its bound where it is of
// the size of float64's rounding, which differs between machines.
func distance(d float64) string {
	if math.Abs(d) < 1e-12 {
		return "< 1e-12"
	}
	return fmt.Sprintf("%.1e", d)
}

// A handLayer and a handNet are networks computed by hand. W is in by out.
type (
	handLayer struct {
		W [][]float64
		B []float64
	}
	handNet []handLayer
)

// apply returns x·w + b. The conversion keeps the compiler from fusing the
// product and the sum, so that all machines show the same digits.
func (l handLayer) apply(x []float64) []float64 {
	y := append([]float64(nil), l.B...)
	for i, v := range x {
		for j := range y {
			y[j] += float64(v * l.W[i][j])
		}
	}
	return y
}

// hidden returns the values of every hidden layer; the last are ξ.
func (n handNet) hidden(x []float64) [][]float64 {
	var layers [][]float64
	for _, l := range n[:len(n)-1] {
		x = l.apply(x)
		for j := range x {
			x[j] = max(x[j], 0)
		}
		layers = append(layers, x)
	}
	return layers
}

func (n handNet) latent(x []float64) []float64 {
	layers := n.hidden(x)
	return layers[len(layers)-1]
}

func (n handNet) output(x []float64) []float64 { return n[len(n)-1].apply(n.latent(x)) }

// sayHidden shows a network's input and hidden layers.
func (s *sheet) sayHidden(name string, n handNet, x []float64) {
	s.say("%s, input x = (%s):", name, numbers(x...))
	for i, values := range n.hidden(x) {
		s.say("  layer %d: x <- max(x·w + b, 0) = (%s)", i+1, numbers(values...))
	}
}

// joined returns vectors one after the other.
func joined(vectors ...[]float64) []float64 { return slices.Concat(vectors...) }

func workTarget(s *sheet, c goldenCase) {
	var in struct {
		Actor   handNet
		Critics []handNet
		SNext   [][]float64 `json:"s_next"`
		G       [][]float64
		R       []float64
		Gamma   float64
		M       []int
	}
	var out struct {
		ANext [][]float64 `json:"a_next"`
		Y     []float64
	}
	c.read(&in, &out)
	i, j := in.M[0], in.M[1]
	s.say("γ = %v, M = {%d, %d} of %d target critics, g' = g.\n", in.Gamma, i+1, j+1, len(in.Critics))

	var rows []numberRow
	for k, r := range in.R {
		policyIn := joined(in.SNext[k], in.G[k])
		a := in.Actor.output(policyIn)
		before := slices.Clone(a)
		for c := range a {
			a[c] = math.Tanh(a[c])
			s.byHand(a[c], out.ANext[k][c], "a'[%d] of transition %d", c+1, k+1)
		}
		criticIn := joined(policyIn, a)
		qi, qj := in.Critics[i].output(criticIn)[0], in.Critics[j].output(criticIn)[0]
		least := min(qi, qj)
		y := r + float64(in.Gamma*least)
		if k == 0 {
			s.say("Transition 1, s' = (%s), g = (%s):", numbers(in.SNext[k]...), numbers(in.G[k]...))
			s.sayHidden("target policy", in.Actor, policyIn)
			s.say("  a' = tanh(x·w + b) = tanh(%s) = (%s)", numbers(before...), numbers(a...))
			for _, critic := range in.M {
				s.sayHidden(fmt.Sprintf("target critic %d", critic+1), in.Critics[critic], criticIn)
				s.say("  Q = x·w + b = %s", numbers(in.Critics[critic].output(criticIn)...))
			}
		}
		rows = append(rows, row(strconv.Itoa(k+1), r, qi, qj, least, in.Gamma*least, y))
		code := make([]float32, 1)
		qta.TDTarget(code, []float32{float32(r)}, []float32{float32(qi)}, []float32{float32(qj)}, in.Gamma)
		s.result(y, float64(code[0]), out.Y[k], "y of transition %d", k+1)
	}
	s.table(fmt.Sprintf("transition\tr\tQ_targ,%d\tQ_targ,%d\tmin\tγ min\tr + γ min", i+1, j+1), rows)
}

func workCriticLoss(s *sheet, c goldenCase) {
	var in struct {
		Critics []handNet
		S, G, A [][]float64
		Y       []float64
	}
	var out struct {
		Loss []float64
		Grad []handNet
	}
	c.read(&in, &out)
	n := float64(len(in.Y))
	s.say("|B| = %v; critic 1 of %d. The gradient with respect to Q is 2 (Q - y) / |B|, and that of", n, len(in.Critics))
	s.say("the bias of the last layer, which is added to every Q, is the sum of these.\n")
	critic, final := in.Critics[0], len(in.Critics[0])-1

	var rows []numberRow
	var q, y []float32
	sum, bias := 0.0, 0.0
	for k := range in.Y {
		x := joined(in.S[k], in.G[k], in.A[k])
		value := critic.output(x)[0]
		if k == 0 {
			s.sayHidden("Transition 1, critic 1", critic, x)
			s.say("  Q = x·w + b = %s", numbers(value))
		}
		δ := value - in.Y[k]
		sum += float64(δ * δ)
		bias += 2 * δ / n
		rows = append(rows, row(strconv.Itoa(k+1), value, in.Y[k], δ, δ*δ, 2*δ/n))
		q, y = append(q, float32(value)), append(y, float32(in.Y[k]))
	}
	s.table("transition\tQ\ty\tQ - y\t(Q - y)²\t2 (Q - y) / |B|", rows)
	s.line()
	s.say("Σ (Q - y)² = %s, loss = %[1]s / %v", numbers(sum), n)

	gradient := make([]float32, len(q))
	loss := qta.CriticLoss(gradient, q, y, nil)
	s.result(sum/n, loss, out.Loss[0], "loss")
	s.result(bias, sum32(gradient), out.Grad[0][final].B[0], "gradient of the last bias")
}

// sum32 returns the sum of x.
func sum32(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}

func workPolyak(s *sheet, c goldenCase) {
	var in struct {
		Target, Online handNet
		Rho            float64
	}
	var out struct{ Target handNet }
	c.read(&in, &out)
	s.say("ρ = %v; the biases of the first layer stand for all parameters.", in.Rho)
	var rows []numberRow
	for j, target := range in.Target[0].B {
		online := in.Online[0].B[j]
		old, new := in.Rho*target, (1-in.Rho)*online
		rows = append(rows, row(strconv.Itoa(j+1), target, online, old, new, old+new))
		code := []float32{float32(target)}
		qta.Polyak(code, []float32{float32(online)}, in.Rho)
		s.result(old+new, float64(code[0]), out.Target[0].B[j], "φ_targ %d", j+1)
	}
	s.table("bias\tφ_targ\tφ\tρ φ_targ\t(1 - ρ) φ\tsum", rows)
}

func workPredictiveLoss(s *sheet, c goldenCase) {
	var in struct {
		Critics []handNet
		Heads   []handLayer
		S, G, A [][]float64
		SNext   [][]float64 `json:"s_next"`
	}
	var out struct {
		Pred     [][][]float64
		Loss     []float64
		GradHead []handLayer `json:"grad_head"`
	}
	c.read(&in, &out)
	n, width := float64(len(in.S)), len(in.SNext[0])
	s.say("|B| = %v; head 1 of %d. The gradient with respect to P(ξ) is 2 (P(ξ) - s') / |B|, and that of", n, len(in.Heads))
	s.say("the head's biases the sum of these over the minibatch.\n")

	var rows []numberRow
	var prediction, next []float32
	sum, bias := 0.0, make([]float64, width)
	for k := range in.S {
		x := joined(in.S[k], in.G[k], in.A[k])
		ξ := in.Critics[0].latent(x)
		p := in.Heads[0].apply(ξ)
		if k == 0 {
			s.sayHidden("Transition 1, critic 1", in.Critics[0], x)
			s.say("  P(ξ) = ξ·w + b = (%s), where ξ is the x of the last hidden layer", numbers(p...))
		}
		for c, v := range p {
			δ := v - in.SNext[k][c]
			sum += float64(δ * δ)
			bias[c] += 2 * δ / n
			rows = append(rows, row(fmt.Sprintf("%d, [%d]", k+1, c+1), v, in.SNext[k][c], δ, δ*δ, 2*δ/n))
			prediction, next = append(prediction, float32(v)), append(next, float32(in.SNext[k][c]))
			s.byHand(v, out.Pred[0][k][c], "P(ξ)[%d] of transition %d", c+1, k+1)
		}
	}
	s.table("transition\tP(ξ)\ts'\tP(ξ) - s'\t(P(ξ) - s')²\t2 (P(ξ) - s') / |B|", rows)
	s.line()
	s.say("Σ |P(ξ) - s'|² = %s, L = %[1]s / %v", numbers(sum), n)

	gradient := make([]float32, len(next))
	loss := qta.PredictiveLoss(gradient, prediction, next, width)
	s.result(sum/n, loss, out.Loss[0], "L")
	for c := range width {
		var column []float32
		for k := range in.S {
			column = append(column, gradient[k*width+c])
		}
		s.result(bias[c], sum32(column), out.GradHead[0].B[c], "gradient of bias %d", c+1)
	}
}

func workUncertainty(s *sheet, c goldenCase) {
	var in struct {
		Critics []handNet
		Heads   []handLayer
		S, G    [][]float64
		Actions [][][]float64
	}
	var out struct {
		PerAction [][]float64 `json:"per_action"`
		Epsilon   []float64
	}
	c.read(&in, &out)
	G, d, width := len(in.Critics), len(in.Actions), len(in.Heads[0].B)
	s.say("d = %d, G = %d; candidate 1 of %d. std is the sample standard deviation over the heads,", d, G, len(in.S))
	s.say("averaged over the %d components of their predictions.\n", width)

	var rows []numberRow
	heads := make([][]float32, G)
	ε, deviations := 0.0, make([]float64, d)
	for j := range d {
		x := joined(in.S[0], in.G[0], in.Actions[j][0])
		predictions := make([][]float64, G)
		for i, critic := range in.Critics {
			predictions[i] = in.Heads[i].apply(critic.latent(x))
			for _, v := range predictions[i] {
				heads[i] = append(heads[i], float32(v))
			}
			if j == 0 {
				s.sayHidden(fmt.Sprintf("Action 1, critic %d", i+1), critic, x)
				s.say("  P_%d(ξ) = ξ·w + b = (%s)", i+1, numbers(predictions[i]...))
			}
		}
		for c := range width {
			var r []float64
			mean, squares := 0.0, 0.0
			for _, p := range predictions {
				r = append(r, p[c])
				mean += p[c] / float64(G)
			}
			for _, p := range predictions {
				squares += float64((p[c] - mean) * (p[c] - mean))
			}
			std := math.Sqrt(squares / float64(G-1))
			deviations[j] += std / float64(width)
			rows = append(rows, row(fmt.Sprintf("%d, [%d]", j+1, c+1), append(r, mean, squares, std)...))
		}
		ε += deviations[j] / float64(d)
	}
	var columns strings.Builder
	for i := range G {
		fmt.Fprintf(&columns, "P_%d\t", i+1)
	}
	s.table("action\t"+columns.String()+"mean\tΣ (P - mean)²\t√(Σ / (G-1))", rows)
	s.line()
	s.say("ε = (%s) / %d = %s", strings.ReplaceAll(numbers(deviations...), ", ", " + "), d, numbers(ε))

	code := make([]float64, d)
	qta.HeadDeviation(code, heads, width)
	mean := 0.0
	for j, v := range code {
		mean += v / float64(d)
		s.result(deviations[j], v, out.PerAction[j][0], "mean std, action %d", j+1)
	}
	s.result(ε, mean, out.Epsilon[0], "ε")
}

func workGoalProbabilities(s *sheet, c goldenCase) {
	var in struct {
		Epsilon []float64
		M, B    float64
	}
	var out struct{ Normalized, P []float64 }
	c.read(&in, &out)
	low, high := slices.Min(in.Epsilon), slices.Max(in.Epsilon)
	s.say("m = %v, b = %v. ε is scaled to between 0 and 1 first: less %v, divided by %v - %[3]v.", in.M, in.B, low, high)

	n := len(in.Epsilon)
	scaled, line, weight := make([]float64, n), make([]float64, n), make([]float64, n)
	sum := 0.0
	for k, ε := range in.Epsilon {
		scaled[k] = (ε - low) / (high - low)
		line[k] = float64(in.M*scaled[k]) + in.B
		weight[k] = max(line[k], 0)
		sum += weight[k]
	}
	code := make([]float64, n)
	qta.GoalProbabilities(code, in.Epsilon, in.M, in.B)
	var rows []numberRow
	for k, ε := range in.Epsilon {
		rows = append(rows, row(strconv.Itoa(k+1), ε, scaled[k], line[k], weight[k], weight[k]/sum))
		s.byHand(scaled[k], out.Normalized[k], "scaled ε_%d", k+1)
		s.result(weight[k]/sum, code[k], out.P[k], "p_%d", k+1)
	}
	s.table("candidate\tε\tscaled\tm ε + b\tmax(m ε + b, 0)\tdivided by Σ", rows)
	s.line()
	s.say("Σ max(m ε + b, 0) = %s", numbers(sum))
}

// prioritized is a golden case of Equations 7 and 8.
type prioritized struct {
	in struct {
		Priority    []float64
		Alpha, Beta float64
	}
	out struct {
		P, W        []float64
		WNormalized []float64 `json:"w_normalized"`
	}
}

func workSampleProbabilities(s *sheet, c goldenCase) {
	var v prioritized
	c.read(&v.in, &v.out)
	s.say("α = %v.", v.in.Alpha)
	powers := make([]float64, len(v.in.Priority))
	sum := 0.0
	for j, p := range v.in.Priority {
		powers[j] = math.Pow(p, v.in.Alpha)
		sum += powers[j]
	}
	code := make([]float64, len(powers))
	qta.SampleProbabilities(code, v.in.Priority, v.in.Alpha)
	var rows []numberRow
	for j, p := range v.in.Priority {
		rows = append(rows, row(strconv.Itoa(j+1), p, powers[j], powers[j]/sum))
		s.result(powers[j]/sum, code[j], v.out.P[j], "P(%d)", j+1)
	}
	s.table("transition\tp\tp^α\tdivided by Σ", rows)
	s.line()
	s.say("Σ p^α = %s", numbers(sum))
}

func workImportanceWeights(s *sheet, c goldenCase) {
	var v prioritized
	c.read(&v.in, &v.out)
	n := len(v.out.P)
	s.say("N = %d, β = %v; P is that of Equation 7.", n, v.in.Beta)
	w := make([]float64, n)
	var rows []numberRow
	for j, P := range v.out.P {
		w[j] = math.Pow(1/(float64(n)*P), v.in.Beta)
	}
	largest := slices.Max(w)
	code, normalized := make([]float64, n), make([]float64, n)
	qta.ImportanceWeights(code, v.out.P, n, v.in.Beta, 0)
	qta.ImportanceWeights(normalized, v.out.P, n, v.in.Beta, slices.Min(v.out.P))
	for j, P := range v.out.P {
		rows = append(rows, row(strconv.Itoa(j+1), P, float64(n)*P, 1/(float64(n)*P), w[j], w[j]/largest))
		s.result(w[j], code[j], v.out.W[j], "w_%d", j+1)
		s.result(w[j]/largest, normalized[j], v.out.WNormalized[j], "w_%d / max", j+1)
	}
	s.table("transition\tP\tN P\t1 / (N P)\tto the power of β\tdivided by max w", rows)
	s.line()
	s.say("max w = %s", numbers(largest))
}

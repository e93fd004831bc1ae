// Package worked works the paper's equations through in numbers, one golden case
// each. What it shows is computed "by hand", as naively as the text says it, in
// float64 and without package qta; the results stand beside those of the
// package's functions and of the golden vectors. Indices count from 1, as the
// paper's do.
package worked

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

// An equation is one with the golden case that it is shown with.
type equation struct {
	title, formula string
	function       string // of package qta
	file, name     string // of the golden case
	work           func(s *Sheet, c *goldenCase)
}

// Equations returns how many there are.
func Equations() int { return len(equations()) }

// equations returns all, Equation 1 first.
func equations() []equation {
	return []equation{
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

// A goldenCase is a case of the golden vectors, with what any of the equations
// needs. Package qta has found all of it to be there and of the right shapes.
type goldenCase struct {
	Name string
	Tol  float64
	In   struct {
		Actor, Target, Online   handNet
		Critics                 []handNet
		Heads                   []handLayer
		S, G, A                 [][]float64
		SNext                   [][]float64 `json:"s_next"`
		Actions                 [][][]float64
		R, Y, Epsilon, Priority []float64
		Pair                    []int   `json:"M"`
		Slope                   float64 `json:"m"`
		B, Gamma, Rho           float64
		Alpha, Beta             float64
	}
	Out struct {
		Target        handNet
		Grad          []handNet
		GradHead      []handLayer `json:"grad_head"`
		ANext         [][]float64 `json:"a_next"`
		Pred          [][][]float64
		PerAction     [][]float64 `json:"per_action"`
		Y, Loss       []float64
		Epsilon, P, W []float64
		Normalized    []float64
		WNormalized   []float64 `json:"w_normalized"`
	}
}

func findGolden(golden fs.FS, file, name string) (*goldenCase, error) {
	text, err := fs.ReadFile(golden, file+".json")
	if err != nil {
		return nil, err
	}
	var vectors struct{ Cases []goldenCase }
	if err := json.Unmarshal(text, &vectors); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(vectors.Cases, func(c goldenCase) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the golden vectors of %s have no case %q", file, name)
	}
	return &vectors.Cases[i], nil
}

// Through writes the equation of the given number, or all for 0, and
// returns how many results do not hold.
func Through(w io.Writer, golden fs.FS, number int) (apart int, err error) {
	for i := range equations() {
		if number > 0 && i+1 != number {
			continue
		}
		s, err := Work(golden, i+1)
		if err != nil {
			return apart, err
		}
		if _, err := io.WriteString(w, s.Text); err != nil {
			return apart, err
		}
		apart += s.Apart
	}
	return apart, nil
}

// Work works the equation of a number through.
func Work(golden fs.FS, number int) (*Sheet, error) {
	e := equations()[number-1]
	c, err := findGolden(golden, e.file, e.name)
	if err != nil {
		return nil, err
	}
	// What is said, then the numbers put into the formula, then the results.
	s := &Sheet{w: new(strings.Builder), tolerance: c.Tol}
	e.work(s, c)
	s.conclude()
	s.Text = fmt.Sprintf("Equation %d: %s\n\n  %s\n  %s\n\n  worked through with %s.json, case %q; code is %s.\n",
		number, e.title, e.formula, s.InNumbers, e.file, e.name, e.function) + s.w.String()
	return s, nil
}

// A Sheet is the working of one equation, with results at its end: numbers
// computed by hand, by the code and in another framework.
type Sheet struct {
	InNumbers string // the formula with numbers put in, computed by hand, and rounded
	Text      string // all of it
	Apart     int    // results that do not hold

	w         *strings.Builder
	tolerance float64
	results   strings.Builder
}

// insert notes the formula with numbers put in.
func (s *Sheet) insert(format string, args ...any) { s.InNumbers = fmt.Sprintf(format, args...) }

// short writes numbers to four digits, without an exponent.
func short(separator string, x ...float64) string {
	text := make([]string, len(x))
	for i, v := range x {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
		text[i] = strconv.FormatFloat(rounded+0, 'f', -1, 64)
	}
	return strings.Join(text, separator)
}

func (s *Sheet) say(format string, args ...any) { fmt.Fprintf(s.w, "  "+format+"\n", args...) }

// result adds a number that an exported function of package qta computes.
func (s *Sheet) result(hand, code, golden float64, format string, args ...any) {
	s.compare(hand, code, golden, numbers(code), fmt.Sprintf(format, args...))
}

// byHand adds one that only networks within package qta have.
func (s *Sheet) byHand(hand, golden float64, format string, args ...any) {
	s.compare(hand, hand, golden, "-", fmt.Sprintf(format, args...))
}

func (s *Sheet) compare(hand, code, golden float64, shown, name string) {
	allowed, verdict := s.tolerance*(1+math.Abs(golden)), "holds"
	if !(math.Abs(code-golden) <= allowed && math.Abs(hand-golden) <= allowed) {
		s.Apart++
		verdict = "DOES NOT HOLD"
	}
	// Differences of the size of float64's rounding differ between machines.
	difference := "< 1e-12"
	if d := code - golden; !(math.Abs(d) < 1e-12) {
		difference = fmt.Sprintf("%.1e", d)
	}
	fmt.Fprintf(&s.results, "  %s\t%s\t%s\t%s\t%s\t%s\n", name, numbers(hand), shown, numbers(golden), difference, verdict)
}

// conclude writes the results.
func (s *Sheet) conclude() {
	t := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\n  result\tby hand\tcode\tgolden\tdifference\tverdict\n%s\n", s.results.String())
	t.Flush()
	s.say("difference = code - golden (by hand - golden where code is -); %v (1 + |golden|) is allowed.\n", s.tolerance)
}

// numbers returns x as text, to nine digits.
func numbers(x ...float64) string { return joined(", ", x) }

func joined(separator string, x []float64) string {
	text := make([]string, len(x))
	for i, v := range x {
		text[i] = fmt.Sprintf("%.9g", v+0) // no -0
	}
	return strings.Join(text, separator)
}

// table writes rows under headings with tabs between them.
func (s *Sheet) table(headings string, rows []string) {
	fmt.Fprintln(s.w)
	t := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\t\n%s", headings, strings.Join(rows, ""))
	t.Flush()
}

// below says what follows from a table.
func (s *Sheet) below(format string, args ...any) {
	fmt.Fprintln(s.w)
	s.say(format, args...)
}

// row returns a row of a table: numbers after their name.
func row(name string, x ...float64) string { return name + "\t" + joined("\t", x) + "\t\n" }

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

func (n handNet) latent(x []float64) []float64 { return n.hidden(x)[len(n)-2] }

func (n handNet) output(x []float64) []float64 { return n[len(n)-1].apply(n.latent(x)) }

// sayHidden shows a network's input and hidden layers.
func (s *Sheet) sayHidden(name string, n handNet, x []float64) {
	s.say("%s, input x = (%s):", name, numbers(x...))
	for i, values := range n.hidden(x) {
		s.say("  layer %d: x <- max(x·w + b, 0) = (%s)", i+1, numbers(values...))
	}
}

func workTarget(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	i, j := in.Pair[0], in.Pair[1]
	s.say("γ = %v, M = {%d, %d} of %d target critics, g' = g.\n", in.Gamma, i+1, j+1, len(in.Critics))

	var rows []string
	for k, r := range in.R {
		policyIn := slices.Concat(in.SNext[k], in.G[k])
		a := in.Actor.output(policyIn)
		before := slices.Clone(a)
		for c := range a {
			a[c] = math.Tanh(a[c])
			s.byHand(a[c], out.ANext[k][c], "a'[%d] of transition %d", c+1, k+1)
		}
		criticIn := slices.Concat(policyIn, a)
		qi, qj := in.Critics[i].output(criticIn)[0], in.Critics[j].output(criticIn)[0]
		least := min(qi, qj)
		y := r + float64(in.Gamma*least)
		if k == 0 {
			s.say("Transition 1, s' = (%s), g = (%s):", numbers(in.SNext[k]...), numbers(in.G[k]...))
			s.sayHidden("target policy", in.Actor, policyIn)
			s.say("  a' = tanh(x·w + b) = tanh(%s) = (%s)", numbers(before...), numbers(a...))
			for _, critic := range in.Pair {
				s.sayHidden(fmt.Sprintf("target critic %d", critic+1), in.Critics[critic], criticIn)
				s.say("  Q = x·w + b = %s", numbers(in.Critics[critic].output(criticIn)...))
			}
		}
		if k == 0 {
			s.insert("y_1 = %s + %s · min(%s, %s) = %s", short("", r), short("", in.Gamma), short("", qi), short("", qj), short("", y))
		}
		rows = append(rows, row(strconv.Itoa(k+1), r, qi, qj, least, in.Gamma*least, y))
		code := make([]float32, 1)
		qta.TDTarget(code, []float32{float32(r)}, []float32{float32(qi)}, []float32{float32(qj)}, in.Gamma)
		s.result(y, float64(code[0]), out.Y[k], "y of transition %d", k+1)
	}
	s.table(fmt.Sprintf("transition\tr\tQ_targ,%d\tQ_targ,%d\tmin\tγ min\tr + γ min", i+1, j+1), rows)
}

func workCriticLoss(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	n := float64(len(in.Y))
	s.say("|B| = %v; critic 1 of %d. The gradient with respect to Q is 2 (Q - y) / |B|, and that of", n, len(in.Critics))
	s.say("the bias of the last layer, which is added to every Q, is the sum of these.\n")
	critic, final := in.Critics[0], len(in.Critics[0])-1

	var rows, squares []string
	var q, y []float32
	sum, bias := 0.0, 0.0
	for k := range in.Y {
		x := slices.Concat(in.S[k], in.G[k], in.A[k])
		value := critic.output(x)[0]
		if k == 0 {
			s.sayHidden("Transition 1, critic 1", critic, x)
			s.say("  Q = x·w + b = %s", numbers(value))
		}
		δ := value - in.Y[k]
		sum += float64(δ * δ)
		bias += 2 * δ / n
		squares = append(squares, short("", δ))
		rows = append(rows, row(strconv.Itoa(k+1), value, in.Y[k], δ, δ*δ, 2*δ/n))
		q, y = append(q, float32(value)), append(y, float32(in.Y[k]))
	}
	s.table("transition\tQ\ty\tQ - y\t(Q - y)²\t2 (Q - y) / |B|", rows)
	s.below("Σ (Q - y)² = %s, loss = %[1]s / %v", numbers(sum), n)
	s.insert("%s = %s", mean(squares, len(in.Y)), short("", sum/n))

	gradient := make([]float32, len(q))
	loss := qta.CriticLoss(gradient, q, y, nil)
	s.result(sum/n, loss, out.Loss[0], "loss")
	s.result(bias, sum32(gradient), out.Grad[0][final].B[0], "gradient of the last bias")
}

// mean writes the sum of the squares of differences, divided by n.
func mean(differences []string, n int) string {
	for i, δ := range differences {
		if strings.HasPrefix(δ, "-") {
			δ = "(" + δ + ")"
		}
		differences[i] = δ + "^2"
	}
	return fmt.Sprintf("(%s) / %d", strings.Join(differences, " + "), n)
}

// sum32 returns the sum of x.
func sum32(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}

func workPolyak(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	s.say("ρ = %v; the biases of the first layer stand for all parameters.", in.Rho)
	var rows []string
	for j, target := range in.Target[0].B {
		online := in.Online[0].B[j]
		kept, taken := in.Rho*target, (1-in.Rho)*online
		if j == 0 {
			s.insert("φ_1 = %s · %s + %s · %s = %s", short("", in.Rho), short("", target), short("", 1-in.Rho), short("", online), short("", kept+taken))
		}
		rows = append(rows, row(strconv.Itoa(j+1), target, online, kept, taken, kept+taken))
		code := []float32{float32(target)}
		qta.Polyak(code, []float32{float32(online)}, in.Rho)
		s.result(kept+taken, float64(code[0]), out.Target[0].B[j], "φ_targ %d", j+1)
	}
	s.table("bias\tφ_targ\tφ\tρ φ_targ\t(1 - ρ) φ\tsum", rows)
}

func workPredictiveLoss(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	n, width := float64(len(in.S)), len(in.SNext[0])
	s.say("|B| = %v; head 1 of %d. The gradient with respect to P(ξ) is 2 (P(ξ) - s') / |B|, and that of", n, len(in.Heads))
	s.say("the head's biases the sum of these over the minibatch.\n")

	var rows, squares []string
	var prediction, next []float32
	sum, bias := 0.0, make([]float64, width)
	for k := range in.S {
		x := slices.Concat(in.S[k], in.G[k], in.A[k])
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
			squares = append(squares, short("", δ))
			rows = append(rows, row(fmt.Sprintf("%d, [%d]", k+1, c+1), v, in.SNext[k][c], δ, δ*δ, 2*δ/n))
			prediction, next = append(prediction, float32(v)), append(next, float32(in.SNext[k][c]))
			s.byHand(v, out.Pred[0][k][c], "P(ξ)[%d] of transition %d", c+1, k+1)
		}
	}
	s.table("transition\tP(ξ)\ts'\tP(ξ) - s'\t(P(ξ) - s')²\t2 (P(ξ) - s') / |B|", rows)
	s.below("Σ |P(ξ) - s'|² = %s, L = %[1]s / %v", numbers(sum), n)
	s.insert("L = %s = %s", mean(squares, len(in.S)), short("", sum/n))

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

func workUncertainty(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	G, d, width := len(in.Critics), len(in.Actions), len(in.Heads[0].B)
	s.say("d = %d, G = %d; candidate 1 of %d. std is the sample standard deviation over the heads,", d, G, len(in.S))
	s.say("averaged over the %d components of their predictions.\n", width)

	var rows []string
	heads := make([][]float32, G)
	ε, deviations := 0.0, make([]float64, d)
	for j := range d {
		x := slices.Concat(in.S[0], in.G[0], in.Actions[j][0])
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
	s.insert("ε_1 = (%s) / %d = %s", short(" + ", deviations...), d, short("", ε))
	s.below("ε = (%s) / %d = %s", strings.ReplaceAll(numbers(deviations...), ", ", " + "), d, numbers(ε))

	code := make([]float64, d)
	qta.HeadDeviation(code, heads, width)
	mean := 0.0
	for j, v := range code {
		mean += v / float64(d)
		s.result(deviations[j], v, out.PerAction[j][0], "mean std, action %d", j+1)
	}
	s.result(ε, mean, out.Epsilon[0], "ε")
}

func workGoalProbabilities(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	low, high := slices.Min(in.Epsilon), slices.Max(in.Epsilon)
	s.say("m = %v, b = %v. ε is scaled to between 0 and 1 first: less %v, divided by %v - %[3]v.", in.Slope, in.B, low, high)

	n := len(in.Epsilon)
	scaled, line, weight := make([]float64, n), make([]float64, n), make([]float64, n)
	sum := 0.0
	for k, ε := range in.Epsilon {
		scaled[k] = (ε - low) / (high - low)
		line[k] = float64(in.Slope*scaled[k]) + in.B
		weight[k] = max(line[k], 0)
		sum += weight[k]
	}
	code := make([]float64, n)
	qta.GoalProbabilities(code, in.Epsilon, in.Slope, in.B)
	var rows []string
	for k, ε := range in.Epsilon {
		rows = append(rows, row(strconv.Itoa(k+1), ε, scaled[k], line[k], weight[k], weight[k]/sum))
		s.byHand(scaled[k], out.Normalized[k], "scaled ε_%d", k+1)
		s.result(weight[k]/sum, code[k], out.P[k], "p_%d", k+1)
	}
	top := slices.Index(weight, slices.Max(weight))
	s.insert("p_%d = (%s · %s - %s) / %s = %s", top+1, short("", in.Slope), short("", scaled[top]), short("", -in.B), short("", sum), short("", weight[top]/sum))
	s.table("candidate\tε\tscaled\tm ε + b\tmax(m ε + b, 0)\tdivided by Σ", rows)
	s.below("Σ max(m ε + b, 0) = %s", numbers(sum))
}

func workSampleProbabilities(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	s.say("α = %v.", in.Alpha)
	powers := make([]float64, len(in.Priority))
	sum := 0.0
	for j, p := range in.Priority {
		powers[j] = math.Pow(p, in.Alpha)
		sum += powers[j]
	}
	code := make([]float64, len(powers))
	qta.SampleProbabilities(code, in.Priority, in.Alpha)
	var rows []string
	for j, p := range in.Priority {
		rows = append(rows, row(strconv.Itoa(j+1), p, powers[j], powers[j]/sum))
		s.result(powers[j]/sum, code[j], out.P[j], "P(%d)", j+1)
	}
	s.insert("P_1 = %s^%s / %s = %s", short("", in.Priority[0]), short("", in.Alpha), short("", sum), short("", powers[0]/sum))
	s.table("transition\tp\tp^α\tdivided by Σ", rows)
	s.below("Σ p^α = %s", numbers(sum))
}

func workImportanceWeights(s *Sheet, c *goldenCase) {
	in, out := &c.In, &c.Out
	n := len(out.P)
	s.say("N = %d, β = %v; P is that of Equation 7.", n, in.Beta)
	w := make([]float64, n)
	var rows []string
	for j, P := range out.P {
		w[j] = math.Pow(1/(float64(n)*P), in.Beta)
	}
	largest := slices.Max(w)
	code, normalized := make([]float64, n), make([]float64, n)
	qta.ImportanceWeights(code, out.P, n, in.Beta, 0)
	qta.ImportanceWeights(normalized, out.P, n, in.Beta, slices.Min(out.P))
	for j, P := range out.P {
		rows = append(rows, row(strconv.Itoa(j+1), P, float64(n)*P, 1/(float64(n)*P), w[j], w[j]/largest))
		s.result(w[j], code[j], out.W[j], "w_%d", j+1)
		s.result(w[j]/largest, normalized[j], out.WNormalized[j], "w_%d / max", j+1)
	}
	s.insert("w_1 = (1/%d · 1/%s)^%s / %s = %s", n, short("", out.P[0]), short("", in.Beta), short("", largest), short("", w[0]/largest))
	s.table("transition\tP\tN P\t1 / (N P)\tto the power of β\tdivided by max w", rows)
	s.below("max w = %s", numbers(largest))
}

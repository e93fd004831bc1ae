package qta

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file reads the vectors for check.go, and compares results with them. The names in
// a case are fixed, but the sizes of its lists are free. A value that is missing, unknown
// or of another shape is a fault.

// A fault says what is wrong with a case. The functions of this file panic with a fault,
// and CheckResult.check recovers it, so that the functions of check.go need no error
// handling.
type fault string

func (f fault) Error() string { return string(f) }

// require panics with a fault unless a condition holds.
func require(holds bool, format string, arguments ...any) {
	if !holds {
		panic(fault(fmt.Sprintf(format, arguments...)))
	}
}

// largestVector is how many numbers a case may have, and how many it may make the program
// allocate or compute for one purpose.
const largestVector = 1 << 17

// requireSmall panics with a fault if so many numbers are too many. Their number is the
// product of the factors.
func requireSmall[N int | float64](what string, factors ...N) {
	numbers := 1.0
	for _, n := range factors {
		numbers *= float64(n)
	}
	require(numbers <= largestVector, "%s: %.3g numbers, allowed are %d: vectors are small",
		what, numbers, largestVector)
}

// A vector is the "in" or the "out" of a case, or one step of an update. Its values are
// found by name: gamma, or s[2][0] for a number of the matrix s.
type vector struct {
	place   string          // such as in.steps[0]
	values  map[string]any  // numbers and words, by their places, such as in.steps[0].s[2][0]
	lengths map[string]int  // of lists and objects, by their places
	read    map[string]bool // the places of values that were read
}

// readVector reads the JSON text of a vector.
func readVector(place string, text []byte) vector {
	var value any
	err := fromJSON(text, &value)
	require(err == nil, "%s: %v", place, err)

	v := vector{
		place:   place,
		values:  map[string]any{},
		lengths: map[string]int{},
		read:    map[string]bool{},
	}
	v.add(place, value)
	return v
}

// add stores the value at a place and, one by one, the values inside it. A null counts as
// absent.
func (v vector) add(place string, value any) {
	requireSmall(place, len(v.values)+len(v.lengths))
	require(len(place) <= 200, "%.99s...: names are too long, or lists too deep", place)
	switch value := value.(type) {
	case nil:
	case map[string]any:
		v.lengths[place] = len(value)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			require(!strings.ContainsAny(name, ".[]"), "%s: the name %q would be read as a place", place, name)
			v.add(place+"."+oneLine(name), value[name]) // one line, because faults name places
		}
	case []any:
		v.lengths[place] = len(value)
		for i, element := range value {
			v.add(at(place, i), element)
			first := v.lengths[at(place, 0)]
			n := v.lengths[at(place, i)] // lists within a list are rows of a matrix
			require(n == first, "%s has %d elements, the first list there %d", at(place, i), n, first)
		}
	default:
		v.values[place] = value
	}
}

// at returns the name of an element of a list.
func at(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

// requireKeys panics unless the vector has all of these keys, and none is an empty list.
func (v vector) requireKeys(keys string) {
	for name := range strings.FieldsSeq(keys) {
		require(v.has(name), "%s: there is no %s", v.place, name)
		n, list := v.lengths[v.place+"."+name]
		require(!list || n > 0, "%s.%s is an empty list", v.place, name)
	}
}

// requireRead panics if the vector has a value that no function has read.
func (v vector) requireRead() {
	for _, place := range slices.Sorted(maps.Keys(v.values)) {
		require(v.read[place], "%s is unknown, or one too many", place)
	}
}

// has reports whether the vector has something of this name.
func (v vector) has(name string) bool {
	place := v.place + "." + name
	_, list := v.lengths[place]
	return list || v.values[place] != nil
}

// length returns how many elements a list has, or 0 if there is no list of this name.
func (v vector) length(name string) int { return v.lengths[v.place+"."+name] }

// width returns how many columns a matrix has, or 0 if there is no matrix of this name.
func (v vector) width(name string) int { return v.length(at(name, 0)) }

// elements returns how many elements a list has. It panics if there is no list of this
// name.
func (v vector) elements(name string) int {
	n, ok := v.lengths[v.place+"."+name]
	require(ok, "there is no list %s.%s", v.place, name)
	return n
}

// number returns the number of this name. It panics if there is none.
func (v vector) number(name string) float64 {
	place := v.place + "." + name
	x, ok := v.values[place].(float64)
	require(ok, "there is no number %s", place)
	v.read[place] = true
	return x
}

// numberIf returns the number of this name, or 0 if there is none.
func (v vector) numberIf(name string) float64 {
	if !v.has(name) {
		return 0
	}
	return v.number(name)
}

// whole returns a whole number.
func (v vector) whole(name string) int {
	x := v.number(name)
	whole := x == math.Trunc(x) && math.Abs(x) <= math.MaxInt32
	require(whole, "%s.%s is %v, want a whole number up to %d", v.place, name, x, math.MaxInt32)
	return int(x)
}

// wholes returns a list of whole numbers.
func (v vector) wholes(name string) []int {
	values := make([]int, v.elements(name))
	for i := range values {
		values[i] = v.whole(at(name, i))
	}
	return values
}

// word returns the word of this name, or "" if there is none.
func (v vector) word(name string) string {
	place := v.place + "." + name
	word, ok := v.values[place].(string)
	v.read[place] = ok // a value that is no word stays unread, and requireRead finds it
	return word
}

// list returns a list of numbers.
func list[T float32 | float64](v vector, name string) []T {
	values := make([]T, v.elements(name))
	v.fill(name, values)
	return values
}

// numbers returns a list of n numbers. It panics if the list has another length, or a
// number larger than an agent accepts.
func (v vector) numbers(name string, n int) []float64 {
	x := list[float64](v, name)
	problem := numbersProblem(name, x, n)
	require(problem == "", "%s: %s", v.place, problem)
	return x
}

// lists returns a list of lists of numbers. All lists within it have the same length,
// because add refuses a case in which they differ.
func lists[T float32 | float64](v vector, name string) [][]T {
	rows := make([][]T, v.elements(name))
	for i := range rows {
		rows[i] = list[T](v, at(name, i))
	}
	return rows
}

// fill sets a list, matrix, layer or network to the numbers of this name.
func (v vector) fill(name string, value any) {
	eachNumber(name, value, func(name string, _ float64) float64 { return v.number(name) })
}

// fillIf is fill if there is something of this name.
func (v vector) fillIf(name string, value any) {
	if v.has(name) {
		v.fill(name, value)
	}
}

// eachNumber calls f with each number of a value and the number's name. In a list,
// matrix, layer or network it replaces the number by what f returns.
func eachNumber(name string, value any, f func(name string, x float64) float64) {
	switch value := value.(type) {
	case float64:
		f(name, value)
	case []int:
		for i, x := range value {
			value[i] = int(f(at(name, i), float64(x)))
		}
	case []float64:
		for i, x := range value {
			value[i] = f(at(name, i), x)
		}
	case []float32:
		for i, x := range value {
			value[i] = float32(f(at(name, i), float64(x)))
		}
	case matrix:
		for r := range value.rows {
			eachNumber(at(name, r), value.row(r), f)
		}
	case layer:
		eachNumber(name+".w", value.w, f)
		eachNumber(name+".b", value.b, f)
	case []layer:
		for i, l := range value {
			eachNumber(at(name, i), l, f)
		}
	default:
		panic(fmt.Sprintf("qta: vectors: no numbers in a %T", value))
	}
}

// network returns a network, and its widths from input to output.
func (v vector) network(name string) (net *mlp, widths []int) {
	widths = []int{v.length(at(name, 0) + ".w")} // w has a row for each input
	for i := range v.length(name) {
		widths = append(widths, v.length(at(name, i)+".b"))
	}
	require(slices.Min(widths) > 0, "%s.%s has a layer without weights", v.place, name)
	requireSmall("the network", mlpSize(widths))
	net = newMLP(make([]float32, mlpSize(widths)), widths)
	v.fill(name, net.layers)
	return net, widths
}

// A comparison compares the code's results with the "out" of a case.
type comparison struct {
	want     vector
	result   *CheckResult
	mismatch error // names the first number that does not match, or is nil
}

// holds compares a result with the value of the same name in "out". Both are a number, or
// a list, matrix, layer or network of numbers.
func (c *comparison) holds(name string, value any) { eachNumber(name, value, c.number) }

// number compares one number that the code computed. It returns the number, because
// eachNumber replaces numbers by what it gets.
func (c *comparison) number(name string, code float64) float64 {
	want := c.want.number(name)
	place := c.want.place + "." + name
	distance := math.Abs(code-want) / (1 + math.Abs(want))

	r := c.result
	r.Compared = append(r.Compared, Comparison{Name: place, Vector: want, Code: code})
	r.Worst = max(r.Worst, distance) // NaN if the code's number is NaN
	if c.mismatch == nil && !(distance <= r.Tolerance) {
		c.mismatch = fmt.Errorf("%s: the file has %v, package qta gives %v; "+
			"|qta - file| / (1 + |file|) is %.3g, allowed are %v",
			place, want, code, distance, r.Tolerance)
	}
	return code
}

// notJSON returns the error for a text that is not JSON. It names a NaN or an infinity,
// which other languages write but JSON does not have.
func notJSON(text []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset > 0 {
		rest := string(text[syntax.Offset-1:]) // from the first byte that is not JSON
		for _, word := range []string{"NaN", "Infinity"} {
			if strings.HasPrefix(rest, word) {
				line := 1 + strings.Count(string(text[:syntax.Offset]), "\n")
				return fmt.Errorf("not vectors: %s in line %d; vectors have finite numbers", word, line)
			}
		}
	}
	return fmt.Errorf("not vectors: %w", err)
}

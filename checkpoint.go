package qta

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// This file saves and restores a whole agent, so that training continues to
// the bit. A checkpoint is, in little-endian order:
//
//	magic, format version
//	parameters (JSON), sizes, seed
//	what visit goes through: each network with its target and Adam's moments,
//	normalizers, generators, counters, running episode, the curriculum's state
//	log, replay, priorities
//	SHA-256 of all of that
//
// The sizes at the beginning fix every length that follows but those of the
// log, the replay and what a [Curriculum] saves, and a decoder compares with what
// is left of the input before it allocates. Magic, version and the checksum at the
// end are the same in every format.

// A kind is what a checkpoint holds.
type kind struct {
	name    string
	magic   string // how the file begins
	version uint64 // of the format that is written and read
}

var agentKind = kind{"a checkpoint", "qta checkpoint\n\x00", 5}

// header is the length of what comes before the state.
func (k kind) header() int { return len(k.magic) + 8 }

// AppendBinary appends the agent's whole state to b. It fails with a
// [*NumericError] if a number in it is NaN or infinite, so that such a state
// never replaces a good one, where a [Curriculum] cannot be saved, and within a
// step, as in AfterEpisode or after an error of Train, from where training would
// not go on as it would have: [TrainOptions] have AfterStep and AfterEvaluation.
func (a *Agent) AppendBinary(b []byte) ([]byte, error) {
	if a.networksOnly {
		return b, errors.New("qta: checkpoint: an agent that was read from safetensors has its networks alone; WriteSafetensors writes them")
	}
	if a.halfway {
		return b, errHalfway
	}
	if own, ok := a.curriculum.(*ownCurriculum); ok {
		if err := own.save(); err != nil {
			return b, err
		}
	}
	if err := a.checkNumbers(); err != nil {
		return b, err
	}
	return a.encode(b), nil
}

// encode is AppendBinary for numbers that are finite.
func (a *Agent) encode(b []byte) []byte {
	start := len(b)
	e := encoder{append(slices.Grow(b, a.checkpointSize()), agentKind.magic...)}
	e.uint(agentKind.version)
	e.bytes(a.params.JSON())
	e.ints(a.sizes.Observation, a.sizes.Goal, a.sizes.Action)
	e.uint(a.seed)
	a.visit(&e)
	e.ints(len(a.log), a.replay.n)
	a.visitStored(&e)
	sum := sha256.Sum256(e.b[start:])
	return append(e.b, sum[:]...)
}

// checkNumbers returns a [*NumericError] if a number of the agent's state is not
// finite: one with which training would go wrong, now or later.
func (a *Agent) checkNumbers() error {
	if err := a.checkParameters(); err != nil {
		return err
	}
	c := finiteness{}
	a.visit(&c)
	a.visitStored(&c)
	if !finite(c.first) {
		return &NumericError{a.step, "training state", c.first}
	}
	return nil
}

// A finiteness is a coder that looks for a number that is not finite.
type finiteness struct{ first float64 }

func (c *finiteness) float(v *float64) {
	if finite(c.first) {
		c.first = *v
	}
}

func (c *finiteness) float32s(v []float32) {
	for _, x := range v {
		y := float64(x)
		c.float(&y)
	}
}

func (c *finiteness) float64s(v []float64) {
	for i := range v {
		c.float(&v[i])
	}
}

func (c *finiteness) int(*int, int)    {}
func (c *finiteness) bool(*bool)       {}
func (c *finiteness) generator(stream) {}
func (c *finiteness) fixed([]byte)     {}
func (c *finiteness) blob(*[]byte)     {}
func (c *finiteness) loading() bool    { return false }

// checkpointSize returns about the length of a checkpoint, so that it is written
// to memory that is allocated once.
func (a *Agent) checkpointSize() int {
	c := byteCount(1 << 14) // the header
	a.visit(&c)
	a.visitStored(&c)
	return int(c)
}

// A byteCount is a coder that adds up lengths.
type byteCount int

func (c *byteCount) float32s(v []float32) { *c += byteCount(4 * len(v)) }
func (c *byteCount) float64s(v []float64) { *c += byteCount(8 * len(v)) }
func (c *byteCount) float(*float64)       { *c += 8 }
func (c *byteCount) int(*int, int)        { *c += 8 }
func (c *byteCount) bool(*bool)           { *c++ }
func (c *byteCount) generator(s stream)   { *c += byteCount(len(s.state())) }
func (c *byteCount) fixed(v []byte)       { *c += byteCount(len(v)) }
func (c *byteCount) blob(v *[]byte)       { *c += byteCount(8 + len(*v)) }
func (c *byteCount) loading() bool        { return false }

// MarshalBinary returns the agent's whole state.
func (a *Agent) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary replaces the agent by the state that AppendBinary wrote. Its
// threads stay. Data that is damaged, of another format or of another kind is
// an error that says so, and leaves the agent as it was.
func (a *Agent) UnmarshalBinary(data []byte) error {
	if err := agentKind.check(data); err != nil {
		return err
	}
	d := decoder{b: data[agentKind.header() : len(data)-sha256.Size]}
	b, err := d.agent()
	if err != nil {
		return err
	}
	threads := a.workers.threads()
	a.workers.close()
	b.SetThreads(threads)
	*a = *b
	return nil
}

// check returns an error unless data is an undamaged checkpoint of this kind and
// format.
func (k kind) check(data []byte) error {
	if err := k.checkBeginning(data); err != nil {
		return fmt.Errorf("qta: checkpoint: %w", err)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if sha256.Sum256(body) != [sha256.Size]byte(sum) {
		return fmt.Errorf("qta: checkpoint: %w", errChecksum)
	}
	return nil
}

var errChecksum = errors.New("damaged or cut off: its checksum is wrong")

// checkBeginning returns an error unless data begins as a checkpoint of this
// kind and format does, and may be one by its length. For another format it is
// a [*formatError].
func (k kind) checkBeginning(data []byte) error {
	if !bytes.HasPrefix(data, []byte(k.magic)) {
		return errors.New("this is not " + k.name)
	}
	if len(data) < k.header()+sha256.Size {
		return errors.New("cut off")
	}
	if v := binary.LittleEndian.Uint64(data[len(k.magic):]); v != k.version {
		return &formatError{v, k.version}
	}
	return nil
}

// A formatError says that a checkpoint has another format.
type formatError struct{ found, read uint64 }

func (e *formatError) Error() string {
	return fmt.Sprintf("format %d, this version reads format %d", e.found, e.read)
}

// agent decodes what follows the format version.
func (d *decoder) agent() (*Agent, error) {
	p, sizes, err := d.shape(1)
	if err != nil {
		return nil, err
	}
	seed := d.uint()
	a, err := NewAgent(p, sizes, seed)
	if err != nil {
		return nil, err
	}
	a.visit(d)
	var evaluations, transitions int
	d.ints(&evaluations, &transitions)
	row := 0
	for _, c := range a.replay.columns() {
		row += 8 * c.width
	}
	var one, none byteCount // of the sampler
	a.sampler.visit(&one, 1)
	a.sampler.visit(&none, 0)
	row += int(one - none)
	if want := float64(none) + float64(float64(evaluations)*evaluationSize) + float64(float64(transitions)*float64(row)); d.err == nil && want != float64(len(d.b)) {
		d.err = fmt.Errorf("qta: checkpoint: %d bytes for %d evaluations and %d transitions, want %.0f", len(d.b), evaluations, transitions, want)
	}
	if d.err != nil {
		return nil, d.err
	}
	a.log = make([]Evaluation, evaluations)
	a.replay.n = transitions
	for _, c := range a.replay.columns() {
		*c.data = make([]float64, transitions*c.width)
	}
	a.visitStored(d)
	if d.err != nil {
		return nil, d.err
	}
	if numeric, ok := errors.AsType[*NumericError](a.checkNumbers()); ok {
		return nil, fmt.Errorf("qta: checkpoint: %s: %v is not finite", numeric.Network, numeric.Value)
	}
	if a.step != transitions {
		return nil, fmt.Errorf("qta: checkpoint: step %d with %d transitions", a.step, transitions)
	}
	last := 0
	for _, e := range a.log {
		if e.Step <= last || e.Step > a.step || !(e.Success >= 0 && e.Success <= 1) {
			return nil, fmt.Errorf("qta: checkpoint: of step %d, with success %v in an evaluation at step %d after one at step %d", a.step, e.Success, e.Step, last)
		}
		last = e.Step
	}
	a.resume()
	// Restored when the episode is played again, too late for an error.
	if err := newStream(0, forEnvironment).restore(a.episodeStart); err != nil {
		return nil, fmt.Errorf("qta: checkpoint: generator: %v", err)
	}
	return a, nil
}

// shape decodes parameters and sizes. What follows must have room for the
// networks: the critics and a number of policies.
func (d *decoder) shape(policies int) (p Params, sizes Sizes, err error) {
	if p, err = ReadParams(bytes.NewReader(d.bytes()), Params{}); err != nil {
		return p, sizes, err
	}
	if err := p.Validate(); err != nil {
		return p, sizes, err
	}
	d.ints(&sizes.Observation, &sizes.Goal, &sizes.Action)
	if min(sizes.Observation, sizes.Goal+1, sizes.Action) < 1 || max(sizes.Observation, sizes.Goal, sizes.Action) > len(d.b) ||
		float64(float64(p.Critics+policies)*learnerFloats(p, sizes)) > float64(len(d.b)/4) {
		return p, sizes, errors.New("qta: checkpoint: shorter than its networks")
	}
	return p, sizes, nil
}

// learnerFloats returns about how many float32 a critic, or the policy, takes of
// a checkpoint: the network, its target and its two moments.
func learnerFloats(p Params, sizes Sizes) float64 {
	hidden := float64(p.HiddenSize)
	inner := float64(float64(p.HiddenLayers-1) * float64(hidden*hidden))
	return 4 * (inner + float64(hidden*float64(sizes.Observation+sizes.Goal+sizes.Action)))
}

// A coder writes or reads values in a fixed order, so that one function both
// saves and restores a state.
type coder interface {
	float32s([]float32)
	float64s([]float64)
	float(*float64)
	int(v *int, most int) // from 0 to most
	bool(*bool)
	generator(stream)
	fixed([]byte)
	blob(*[]byte)  // of any length
	loading() bool // it reads
}

// visit goes through everything that training changes, but the log and the
// replay.
func (a *Agent) visit(c coder) {
	c.float32s(a.policy.net.params)
	c.float32s(a.policy.target.params)
	a.policy.adam.visit(c)
	a.pun.visit(c)
	a.observations.visit(c)
	a.goals.visit(c)
	for _, s := range []stream{a.exploration, a.environment, a.draws, a.learning, a.goalDraws} {
		c.generator(s)
	}
	c.int(&a.step, math.MaxInt)
	c.int(&a.updates, math.MaxInt)
	c.int(&a.foundAt, a.step)
	c.float(&a.losses.critic)
	c.float(&a.losses.head)
	c.float(&a.losses.policy)
	c.bool(&a.explored)
	c.bool(&a.perfect)
	c.float64s(a.observation)
	c.float64s(a.achieved)
	c.float64s(a.desired)
	c.float64s(a.goal)
	c.bool(&a.firstGoal)
	c.bool(&a.reached)
	c.fixed(a.episodeStart)
	c.int(&a.goalsSet, math.MaxInt)
	c.int(&a.goalsReached, a.goalsSet)
	a.average.visit(c)
	a.held.visit(c)
	_, own := a.curriculum.(*ownCurriculum)
	if c.bool(&own); own && c.loading() {
		a.curriculum = new(ownCurriculum)
	}
	a.curriculum.visit(c)
}

// visitStored goes through the log and the replay.
func (a *Agent) visitStored(c coder) {
	for i := range a.log {
		a.log[i].visit(c)
	}
	for _, column := range a.replay.columns() {
		c.float64s(*column.data)
	}
	a.sampler.visit(c, a.replay.n)
}

func (u *pun) visit(c coder) {
	for _, critic := range u.critics {
		c.float32s(critic.params)
		c.float32s(critic.target.params)
		critic.adam.visit(c)
		critic.headAdam.visit(c)
	}
}

func (m *adam) visit(c coder) {
	c.float32s(m.m)
	c.float32s(m.v)
	c.float(&m.beta1)
	c.float(&m.beta2)
}

func (n *normalizer) visit(c coder) {
	c.float64s(n.sum)
	c.float64s(n.square)
	c.float(&n.count)
	if c.loading() {
		n.update()
	}
}

// An encoder appends values.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)      { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *encoder) int(v *int, _ int)  { e.uint(uint64(*v)) }
func (e *encoder) fixed(v []byte)     { e.b = append(e.b, v...) }
func (e *encoder) float(v *float64)   { e.uint(math.Float64bits(*v)) }
func (e *encoder) loading() bool      { return false }
func (e *encoder) generator(s stream) { e.b = append(e.b, s.state()...) }

func (e *encoder) ints(values ...int) {
	for _, v := range values {
		e.uint(uint64(v))
	}
}

func (e *encoder) bool(v *bool) {
	b := byte(0)
	if *v {
		b = 1
	}
	e.b = append(e.b, b)
}

func (e *encoder) bytes(v []byte) {
	e.ints(len(v))
	e.b = append(e.b, v...)
}

func (e *encoder) blob(v *[]byte) { e.bytes(*v) }

func (e *encoder) float32s(values []float32) {
	for _, v := range values {
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(v))
	}
}

func (e *encoder) float64s(values []float64) {
	for _, v := range values {
		e.uint(math.Float64bits(v))
	}
}

// A decoder takes values off its input, and keeps the first error.
type decoder struct {
	b   []byte
	err error
}

// take returns the next n bytes, or zeros at the end of the input.
func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		if d.err == nil {
			d.err = errors.New("qta: checkpoint: ends too early")
		}
		d.b = nil
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) uint() uint64 {
	if v := d.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

func (d *decoder) int(v *int, most int) {
	u := d.uint()
	if u > uint64(most) {
		if d.err == nil {
			d.err = fmt.Errorf("qta: checkpoint: a count is %d, allowed are 0 to %d", u, most)
		}
		u = 0
	}
	*v = int(u)
}

func (d *decoder) ints(values ...*int) {
	for _, v := range values {
		d.int(v, math.MaxInt)
	}
}

func (d *decoder) bytes() []byte {
	var n int
	d.int(&n, math.MaxInt)
	return d.take(n)
}

func (d *decoder) blob(v *[]byte)   { *v = slices.Clone(d.bytes()) }
func (d *decoder) loading() bool    { return true }
func (d *decoder) fixed(v []byte)   { copy(v, d.take(len(v))) }
func (d *decoder) float(v *float64) { *v = math.Float64frombits(d.uint()) }

func (d *decoder) bool(v *bool) {
	b := d.take(1)
	if b != nil && b[0] > 1 && d.err == nil {
		d.err = errors.New("qta: checkpoint: neither true nor false")
	}
	*v = b != nil && b[0] == 1
}

func (d *decoder) generator(s stream) {
	if b := d.take(len(s.state())); b != nil {
		if err := s.restore(b); err != nil && d.err == nil {
			d.err = fmt.Errorf("qta: checkpoint: generator: %v", err)
		}
	}
}

func (d *decoder) float32s(values []float32) {
	if b := d.take(4 * len(values)); b != nil {
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

func (d *decoder) float64s(values []float64) {
	if b := d.take(8 * len(values)); b != nil {
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
}

// evaluationSize is the length of an encoded Evaluation in bytes.
const evaluationSize = 10 * 8

func (e *Evaluation) visit(c coder) {
	c.int(&e.Step, math.MaxInt)
	c.float(&e.Success)
	c.float(&e.CriticLoss)
	c.float(&e.PredictiveLoss)
	c.float(&e.ActorLoss)
	c.int(&e.GoalsSet, math.MaxInt)
	c.int(&e.GoalsReached, e.GoalsSet)
	c.float(&e.Reached)
	c.float(&e.Return)
	c.float(&e.StepsToGoal)
}

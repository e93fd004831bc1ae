package qta

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file saves a whole agent and loads it, so that training goes on to the
// bit. A checkpoint is, with all numbers little-endian:
//
//	magic    16 bytes
//	format   uint64
//	header   its length as a uint64, then that much JSON
//	state    the numbers that [Agent.saved] lists
//	SHA-256  of all of the above
//
// The header fixes the length of the state, so that the two are compared before
// anything is allocated. Magic, format and checksum are the same in every format.

const (
	agentMagic    = "qta checkpoint\n\x00"
	ensembleMagic = "qta ensemble\n\x00\x00\x00" // of a PUN

	checkpointFormat = 6 // of both
)

// A header is the first part of a checkpoint.
type header struct {
	Params      Params
	Sizes       Sizes
	Seed        uint64
	Step        int    // environment steps taken, and transitions in the replay
	Evaluations int    // in the log
	Own         bool   // the curriculum is its user's own
	Curriculum  []byte // what that curriculum saved; nil if it saves nothing
	Attachment  int    // bytes
}

// MarshalBinary returns a checkpoint of the agent: its whole state. It fails with a
// [*NumericError] if a number is NaN or infinite, so that a state gone wrong never
// replaces a good one; with the error of a [Curriculum] that cannot be saved; and
// within a step, as in AfterEpisode or after an error of Train. AfterStep and
// AfterEvaluation of [TrainOptions] are between steps.
func (a *Agent) MarshalBinary() ([]byte, error) {
	if a.networksOnly {
		return nil, errors.New("qta: checkpoint: an agent from safetensors has only its networks: use WriteSafetensors")
	}
	if a.halfway {
		return nil, errHalfway
	}
	h := header{
		Params: a.params, Sizes: a.sizes, Seed: a.seed,
		Step: a.step, Evaluations: len(a.log), Attachment: len(a.attachment),
	}
	if own, ok := a.curriculum.(*ownCurriculum); ok {
		var err error
		if h.Curriculum, err = own.save(); err != nil {
			return nil, err
		}
		h.Own = true
	}
	s := a.saved()
	if err := cmp.Or(a.checkParameters(), s.check(a.step)); err != nil {
		return nil, err
	}
	return h.marshal(agentMagic, s), nil
}

// UnmarshalBinary replaces the agent by the one that MarshalBinary saved, and
// keeps its threads. If the data is damaged, holds something else or has
// another format, it returns an error and leaves the agent as it was; for
// another format the error wraps [errors.ErrUnsupported]. An agent cannot be
// replaced while it trains.
func (a *Agent) UnmarshalBinary(data []byte) error {
	if a.training {
		return errors.New("qta: checkpoint: an agent cannot be replaced while it trains")
	}
	b, err := loadAgent(data)
	if err != nil {
		return fmt.Errorf("qta: checkpoint: %w", err)
	}
	threads := a.workers.threads()
	a.workers.close()
	b.SetThreads(threads)
	*a = *b
	return nil
}

// Previous is the suffix that [Agent.SaveFile] gives the checkpoint before the
// newest.
const Previous = ".previous"

// SaveFile writes a checkpoint to path. It writes and syncs path+".tmp", renames
// the file at path to path+[Previous], and then the new one to path: a crash or a
// full disk at any moment leaves one of the two whole. It follows no links.
func (a *Agent) SaveFile(path string) error {
	data, err := a.MarshalBinary()
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("qta: checkpoint not written: %s is not a regular file", path)
	}
	temporary := path + ".tmp"
	if err = writeSynced(temporary, data); err == nil {
		err = os.Rename(path, path+Previous)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(temporary, path)
		}
	}
	if err != nil {
		os.Remove(temporary)
		return fmt.Errorf("qta: checkpoint not written: %w", err)
	}
	// Some systems cannot sync a directory. There a power failure can undo the
	// renames, and leaves an older checkpoint.
	if directory, err := os.Open(filepath.Dir(path)); err == nil {
		directory.Sync()
		directory.Close()
	}
	return nil
}

// writeSynced writes a new file and waits until it is on the disk.
func writeSynced(path string, data []byte) error {
	os.Remove(path) // left by a crash, or a link that must not be followed
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Sync(), f.Close())
}

// LoadFile reads an agent that [Agent.SaveFile] wrote, to use or to train further.
// If the file is damaged, or missing after a crash (the error then wraps
// [fs.ErrNotExist]), load path+[Previous]: training goes on from there to the same
// end. The error for another format wraps [errors.ErrUnsupported].
func LoadFile(path string) (*Agent, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("qta: checkpoint: %s is not a regular file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("qta: checkpoint: %w", err)
	}
	a, err := loadAgent(data)
	if err != nil {
		return nil, fmt.Errorf("qta: checkpoint: %s: %w", path, err)
	}
	return a, nil
}

func loadAgent(data []byte) (*Agent, error) {
	h, state, err := openCheckpoint(agentMagic, data)
	if err == nil {
		err = h.checkRoom(1, len(state)/16) // parameters, targets and two moments of float32
	}
	if err != nil {
		return nil, err
	}
	a, err := NewAgent(h.Params, h.Sizes, h.Seed)
	if err != nil {
		return nil, bare(err)
	}
	row := 0
	for _, c := range a.replay.columns() {
		row += 8 * c.width
	}
	for _, part := range []struct{ n, size int }{
		{h.Step, row}, {h.Evaluations, evaluationSize}, {h.Attachment, 1},
	} {
		if part.n < 0 || part.n > len(state)/part.size {
			return nil, fmt.Errorf("%d times %d bytes in %d", part.n, part.size, len(state))
		}
	}
	a.step, a.replay.n = h.Step, h.Step
	for _, c := range a.replay.columns() {
		*c.data = make([]float64, h.Step*c.width)
	}
	a.log = make([]Evaluation, h.Evaluations)
	a.attachment = make([]byte, h.Attachment)
	if h.Own {
		a.curriculum = &ownCurriculum{state: h.Curriculum}
	}
	s := a.saved()
	if err := s.read(state); err != nil {
		return nil, err
	}
	if err := s.check(a.step); err != nil {
		return nil, bare(err)
	}
	a.decayWeights()
	return a, nil
}

// marshal returns the checkpoint of a state.
func (h *header) marshal(magic string, s saved) []byte {
	text := toJSON(h)
	size := len(text) + 1000
	for _, field := range s {
		size += max(0, binary.Size(field)) // of vectors
	}
	b := append(make([]byte, 0, size), magic...)
	b = binary.LittleEndian.AppendUint64(b, checkpointFormat)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	b = s.append(append(b, text...))
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// openCheckpoint returns the header and the encoded state of a checkpoint.
func openCheckpoint(magic string, data []byte) (h header, state []byte, err error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return h, nil, fmt.Errorf("this does not begin with %q", strings.TrimRight(magic, "\n\x00"))
	}
	end := len(data) - sha256.Size
	if end < len(magic)+16 || sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return h, nil, errors.New("damaged or cut off: its checksum is wrong")
	}
	if format := binary.LittleEndian.Uint64(data[len(magic):]); format != checkpointFormat {
		return h, nil, formatError(format)
	}
	length, rest := binary.LittleEndian.Uint64(data[len(magic)+8:]), data[len(magic)+16:end]
	if length > uint64(len(rest)) {
		return h, nil, fmt.Errorf("a header of %d bytes in %d", length, len(rest))
	}
	if err := fromJSON(rest[:length], &h); err != nil {
		return h, nil, fmt.Errorf("its header: %w", bare(err))
	}
	return h, rest[length:], nil
}

// A formatError reports a checkpoint in a format that this version does not
// read.
type formatError uint64

func (e formatError) Error() string {
	return fmt.Sprintf("format %d, this version reads format %d", uint64(e), checkpointFormat)
}

func (e formatError) Is(target error) bool { return target == errors.ErrUnsupported }

// checkRoom returns an error if the parameters are out of range, or if the critics
// and the given number of policies have more parameters than there is room for.
func (h *header) checkRoom(policies, room int) error {
	p, s := &h.Params, h.Sizes
	if err := p.Validate(); err != nil {
		return bare(err)
	}
	// In floating point, which does not overflow, and without biases.
	hidden := float64(p.HiddenSize)
	first := float64(hidden * (float64(s.Observation) + float64(s.Goal) + float64(s.Action)))
	others := float64(hidden * hidden * float64(p.HiddenLayers-1))
	if float64(p.Critics+policies)*(first+others) > float64(room) {
		return errors.New("shorter than its networks")
	}
	return nil
}

// toJSON encodes a value that JSON can represent.
func toJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// fromJSON decodes a value, and refuses unknown fields.
func fromJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// bare returns an error of another part of the package as part of a sentence.
func bare(err error) error {
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "qta: ")), " "))
}

// saved lists what a checkpoint stores, in order: slices of numbers of a known
// length, pointers to a number or a bool, generators, and functions that are
// called when everything before them has been read.
type saved []any

// append encodes what is listed.
func (s saved) append(b []byte) []byte {
	var err error
	for _, field := range s {
		switch v := field.(type) {
		case func():
		case *int:
			b = binary.LittleEndian.AppendUint64(b, uint64(*v))
		case *rand.PCG:
			b, err = v.AppendBinary(b)
		default:
			b, err = binary.Append(b, binary.LittleEndian, v)
		}
		if err != nil {
			panic(err) // a type that has no encoding
		}
	}
	return b
}

// read decodes what is listed from exactly b.
func (s saved) read(b []byte) error {
	const generator = 20 // bytes of a PCG
	for _, field := range s {
		var n int
		var err error
		switch v := field.(type) {
		case func():
			v()
		case *int:
			var i int64
			n, err = binary.Decode(b, binary.LittleEndian, &i)
			*v = int(i)
		case *rand.PCG:
			n = min(generator, len(b))
			err = v.UnmarshalBinary(b[:n])
		default:
			n, err = binary.Decode(b, binary.LittleEndian, v)
		}
		if err != nil {
			return fmt.Errorf("its state: %w", err)
		}
		b = b[n:]
	}
	if len(b) > 0 {
		return fmt.Errorf("its state: %d bytes too many", len(b))
	}
	return nil
}

// check returns a [*NumericError] if a number that is listed is NaN or infinite.
func (s saved) check(step int) error {
	for _, field := range s {
		numbers, _ := field.([]float64)
		switch v := field.(type) {
		case *float64:
			numbers = []float64{*v}
		case []float32:
			if err := checkFinite([]parameterVector{{"training state", v}}, step); err != nil {
				return err
			}
		}
		for _, x := range numbers {
			if !finite(x) {
				return &NumericError{step, "training state", x}
			}
		}
	}
	return nil
}

// saved lists what training changes, except for what the header says.
func (a *Agent) saved() saved {
	s := slices.Concat(
		saved{a.policy.net.params, a.policy.target.params}, a.policy.adam.saved(),
		a.pun.saved(),
		a.observations.saved(), a.goals.saved(),
		saved{a.exploration.pcg, a.environment.pcg, a.draws.pcg, a.learning.pcg, a.goalDraws.pcg},
		saved{&a.updates, &a.losses.critic, &a.losses.head, &a.losses.policy},
		saved{&a.foundAt, &a.explored, &a.perfect},
		saved{a.observation, a.achieved, a.desired, a.goal, &a.firstGoal, &a.reached, &a.episodeStart},
		saved{&a.goalsSet, &a.goalsReached, a.attachment},
		a.average.saved(), a.held.saved(), a.curriculum.saved(), a.sampler.saved(a.step),
	)
	for i := range a.log {
		s = append(s, a.log[i].saved()...)
	}
	for _, c := range a.replay.columns() {
		s = append(s, *c.data)
	}
	return s
}

func (u *pun) saved() (s saved) {
	for _, c := range u.critics {
		s = append(s, c.params, c.target.params)
		s = append(s, c.adam.saved()...)
		s = append(s, c.headAdam.saved()...)
	}
	return s
}

func (a *adam) saved() saved { return saved{a.m, a.v, &a.beta1, &a.beta2} }

func (n *normalizer) saved() saved { return saved{n.sum, n.square, &n.count, n.update} }

// evaluationSize is the length of an encoded Evaluation in bytes.
const evaluationSize = 10 * 8

func (e *Evaluation) saved() saved {
	return saved{&e.Step, &e.Success, &e.CriticLoss, &e.PredictiveLoss, &e.ActorLoss,
		&e.GoalsSet, &e.GoalsReached, &e.Reached, &e.Return, &e.StepsToGoal}
}

package qta

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// This file saves a whole agent and loads it, so that training continues as if never
// interrupted, to the bit. A checkpoint has these parts, with all numbers little-endian:
//
//	magic    16 bytes
//	format   uint64
//	header   its length as a uint64, then that much JSON
//	state    the numbers that [Agent.savedState] lists
//	SHA-256  of all of the above
//
// The header fixes the length of the state. Magic, format and checksum stand in the same
// places in every format.

const (
	agentMagic    = "qta checkpoint\n\x00"
	ensembleMagic = "qta ensemble\n\x00\x00\x00" // for a PUN

	checkpointFormat = 8 // the same for an agent and a PUN
)

// A header is the JSON part of a checkpoint.
type header struct {
	Params      Params
	Sizes       Sizes
	Seed        uint64
	Step        int  // environment steps taken, and transitions in the replay
	Evaluations int  // rows of the log
	Own         bool // the curriculum was given to SetCurriculum
	Attachment  int  // bytes of what the user attached
}

// MarshalBinary returns a checkpoint of the agent: its whole state. It fails with a
// [*NumericError] if a number is NaN or infinite. It also fails after an error within a
// step of Train.
func (a *Agent) MarshalBinary() ([]byte, error) {
	if a.halfway {
		return nil, errHalfway
	}
	_, own := a.curriculum.(*ownCurriculum)
	h := header{
		Params:      a.params,
		Sizes:       a.sizes,
		Seed:        a.seed,
		Step:        a.step,
		Evaluations: len(a.log),
		Own:         own,
		Attachment:  len(a.attachment),
	}
	return h.marshal(agentMagic, a.savedState(), a.parameters(), a.step)
}

// UnmarshalBinary replaces the agent by the one that MarshalBinary saved, but keeps its
// threads. On error, as within Train, the agent stays as it was. The error wraps
// [errors.ErrUnsupported] if another version wrote the checkpoint.
func (a *Agent) UnmarshalBinary(data []byte) error {
	if a.env != nil {
		return errTraining
	}
	b, err := loadAgent(data)
	if err != nil {
		return fmt.Errorf("qta: checkpoint: %w", err)
	}
	if a.workers != nil { // else a is the zero Agent
		b.SetThreads(a.workers.n)
		a.Close()
	}
	*a = *b
	return nil
}

// SaveFile writes a checkpoint to path+".tmp" and renames that to path. Even after a crash
// or on a full disk, path holds the whole old or new checkpoint. If path exists, it must be
// a regular file, not a link. Two programs must not save to the same path at the same time.
func (a *Agent) SaveFile(path string) error {
	data, err := a.MarshalBinary()
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("qta: checkpoint not written: %s is not a regular file", path)
	}
	temporary := path + ".tmp"
	f, err := os.Create(temporary)
	if err == nil {
		err = writeAndClose(f, data)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return fmt.Errorf("qta: checkpoint not written: %w", err)
	}
	return nil
}

// A diskFile has the methods of [os.File] that writeAndClose calls.
type diskFile interface {
	io.WriteCloser
	Sync() error
}

// writeAndClose writes data, waits until it is on the disk, and closes f.
func writeAndClose(f diskFile, data []byte) error {
	_, written := f.Write(data)
	synced := f.Sync()
	if errors.Is(synced, syscall.EINVAL) {
		synced = nil // a file system without fsync
	}
	closed := f.Close()
	return cmp.Or(written, synced, closed)
}

// LoadFile reads what [Agent.SaveFile] wrote. The error wraps [os.ErrNotExist] if there is
// no file, and [errors.ErrUnsupported] if another version wrote the file.
func LoadFile(path string) (*Agent, error) {
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

// loadAgent makes an agent of the sizes in the header, and reads the state into it.
func loadAgent(data []byte) (*Agent, error) {
	h, state, err := openCheckpoint(agentMagic, data)
	if err != nil {
		return nil, err
	}
	a, err := NewAgent(h.Params, h.Sizes, h.Seed)
	if err != nil {
		return nil, otherVersion(err)
	}
	a.loaded = true
	a.step = h.Step
	a.replay.n = h.Step
	for _, c := range a.replay.columns() {
		c.data = make([]float64, h.Step*c.width)
	}
	a.log = make([]Evaluation, h.Evaluations)
	a.attachment = make([]byte, h.Attachment)
	if m, ok := a.curriculum.(*megaCurriculum); ok {
		episodes := (h.Step + h.Params.Horizon - 1) / h.Params.Horizon
		m.desired = make([]float64, episodes*h.Sizes.Goal)
	}
	if h.Own {
		a.curriculum = new(ownCurriculum)
	}
	if err := a.savedState().read(state); err != nil {
		return nil, err
	}
	for _, c := range append(a.replay.columns(), &column{data: a.goal}) {
		if problem := numbersProblem("state", c.data, len(c.data)); problem != "" {
			return nil, errors.New("its state: " + problem)
		}
	}
	return a, nil
}

// marshal returns a checkpoint with this header and the state s. It returns a [*NumericError]
// if a number of s or of the networks is NaN or infinite.
func (h *header) marshal(magic string, s savedFields, networks []parameterVector, step int) ([]byte, error) {
	if err := checkParameters(step, networks); err != nil {
		return nil, err
	}
	text := toJSON(h)
	b := binary.LittleEndian.AppendUint64([]byte(magic), checkpointFormat)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	b = append(b, text...)
	b, err := s.append(b, step)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// openCheckpoint returns the header and the encoded state of a checkpoint.
func openCheckpoint(magic string, data []byte) (h header, state []byte, err error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return h, nil, fmt.Errorf("it does not begin with %q", strings.TrimRight(magic, "\n\x00"))
	}
	end := len(data) - sha256.Size
	if end < len(magic)+16 || sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return h, nil, errors.New("damaged or cut off: its checksum is wrong")
	}
	if format := binary.LittleEndian.Uint64(data[len(magic):]); format != checkpointFormat {
		return h, nil, fmt.Errorf("format %d, this version reads format %d: %w",
			format, checkpointFormat, errors.ErrUnsupported)
	}
	length := binary.LittleEndian.Uint64(data[len(magic)+8:])
	rest := data[len(magic)+16 : end]
	if length > uint64(len(rest)) {
		return h, nil, errors.New("it is shorter than its header")
	}
	h.Params = Paper() // for parameters that are newer than the checkpoint
	if err := fromJSON(rest[:length], &h); err != nil {
		return h, nil, otherVersion(err)
	}
	state = rest[length:]
	if !h.fits(len(state)) {
		return h, nil, errors.New("its state is shorter than its header says")
	}
	return h, state, nil
}

// otherVersion returns the error of a header that this version does not understand. Its
// checksum is right, so another version wrote it, with a parameter or a value that is not
// known here.
func otherVersion(err error) error {
	return fmt.Errorf("its header: %w: %w", bare(err), errors.ErrUnsupported)
}

// fits reports whether a state of that many bytes can hold what the header says. Without
// this check a small file could make the program allocate much memory. NewAgent finds
// other mistakes in parameters and sizes.
func (h *header) fits(bytes int) bool {
	const bytesOfFloat32, bytesOfFloat64 = 4, 8
	const weight = 4 * bytesOfFloat32      // itself, its target and two moments
	const evaluation = 10 * bytesOfFloat64 // the fields of an Evaluation
	transition := bytesOfFloat64 * float64(h.Sizes.Observation+h.Sizes.Goal+h.Sizes.Action)

	// The state is at least as large as the largest of its parts.
	needed := max(
		weight*criticWeights(&h.Params, h.Sizes),
		transition*float64(h.Step),
		evaluation*float64(h.Evaluations),
		float64(h.Attachment))
	negative := min(h.Step, h.Evaluations, h.Attachment) < 0
	return !negative && needed <= float64(bytes)
}

// criticWeights returns how many weights the critics have, without their last layers. The
// number is a float64, because an int could overflow.
func criticWeights(p *Params, s Sizes) float64 {
	hidden := float64(p.HiddenSize)
	inputs := float64(s.Observation) + float64(s.Goal) + float64(s.Action)
	first := float64(hidden * inputs)
	others := float64(hidden*hidden) * float64(p.HiddenLayers-1)
	return float64(p.Critics) * (first + float64(others))
}

func toJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// fromJSON decodes a value, and refuses unknown fields and anything after it.
func fromJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the JSON value")
	}
	return nil
}

// bare returns err without the prefix "qta: ", to be part of another message.
func bare(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "qta: ")) }

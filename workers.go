package qta

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A task is work that divides into any number of disjoint parts.
type task interface {
	part(i, n int) // does the i-th of n parts
}

// Workers run tasks over a fixed number of threads, of which the caller is one.
// A nil *workers is the caller alone. They serve one caller at a time.
//
// A task has as many parts as there are threads, and a thread takes the next
// that nobody has begun. So the caller, if the system is slow to give it
// another processor, does the work itself. Which thread does a part is the only
// thing that chance decides.
type workers struct {
	n      int
	kernel kernel
	spins  int // how often a waiting thread looks before it sleeps

	task    task
	begun   atomic.Uint64 // the number of this run << 32 + its parts begun
	left    atomic.Int64  // its parts not yet done
	waiting atomic.Bool   // the caller sleeps until done
	done    chan struct{}

	helpers []helper
	closing atomic.Bool
	ended   sync.WaitGroup

	product product // the task of mul
}

// A helper is one goroutine of workers, as the caller sees it.
type helper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte // keeps two helpers off one cache line
}

// newWorkers returns workers of the given number of threads, at least one,
// with the fastest kernel of this machine.
func newWorkers(threads int) *workers { return newWorkersKernel(threads, best) }

// newWorkersKernel is newWorkers with a kernel of the caller's choice.
func newWorkersKernel(threads int, k kernel) *workers {
	n := max(1, threads)
	w := &workers{n: n, kernel: k, done: make(chan struct{}, 1), helpers: make([]helper, n-1)}
	if runtime.GOMAXPROCS(0) >= n {
		// Some tens of microseconds: longer than the caller needs between two
		// products, and shorter than anyone would notice of an idle program.
		// With fewer processors than threads, spinning only stands in the way.
		w.spins = 20000
	}
	w.ended.Add(n - 1)
	for i := range w.helpers {
		w.helpers[i].wake = make(chan struct{}, 1)
		go w.help(&w.helpers[i])
	}
	return w
}

// threads returns the number of threads, the caller included.
func (w *workers) threads() int {
	if w == nil {
		return 1
	}
	return w.n
}

// run does all parts of t and returns when they are done. It allocates nothing.
func (w *workers) run(t task) {
	if w == nil || w.n == 1 {
		t.part(0, 1)
		return
	}
	w.task = t
	w.left.Store(int64(w.n))
	w.start(0)
	w.work()
	for i := w.spins; i > 0 && w.left.Load() != 0; i-- {
	}
	for w.left.Load() != 0 {
		w.waiting.Store(true)
		// Who clears waiting decides whether a token comes: one does unless
		// the caller clears it. It may be a late one, of the run before.
		if w.left.Load() != 0 || !w.waiting.CompareAndSwap(true, false) {
			<-w.done
		}
	}
	w.task = nil
}

// start begins a run of which some parts are taken, and wakes the helpers.
func (w *workers) start(taken uint64) {
	run := w.begun.Load()>>32 + 1
	w.begun.Store(run<<32 + taken)
	for i := range w.helpers {
		if h := &w.helpers[i]; h.asleep.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// work does parts until all are begun.
func (w *workers) work() {
	for {
		begun := w.begun.Load()
		i := int(uint32(begun))
		if i >= w.n {
			return
		}
		if !w.begun.CompareAndSwap(begun, begun+1) {
			continue
		}
		// The run cannot end before this part, so that w.task is its task.
		w.task.part(i, w.n)
		if w.left.Add(-1) == 0 && w.waiting.CompareAndSwap(true, false) {
			w.done <- struct{}{}
		}
	}
}

// help is the life of a helper.
func (w *workers) help(h *helper) {
	defer w.ended.Done()
	run := uint64(0)
	idle := func() bool { return w.begun.Load()>>32 == run }
	for !w.closing.Load() {
		for i := w.spins; i > 0 && idle(); i-- {
		}
		for idle() {
			h.asleep.Store(true)
			// The same agreement as in run.
			if idle() || !h.asleep.CompareAndSwap(true, false) {
				<-h.wake
			}
		}
		run = w.begun.Load() >> 32
		w.work()
	}
}

// close ends the goroutines. The workers are then of one thread.
func (w *workers) close() {
	if w == nil || w.n == 1 {
		return
	}
	w.closing.Store(true)
	w.start(uint64(w.n))
	w.ended.Wait()
	w.n = 1
}

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
type workers struct {
	n      int
	kernel kernel
	spins  int // how often a waiting thread looks before it sleeps

	task     task
	round    atomic.Uint32 // counts runs; a change starts the helpers
	pending  atomic.Int32  // helpers that have not finished the round
	waiting  atomic.Bool   // the caller sleeps until done
	done     chan struct{}
	helpers  []helper
	finished sync.WaitGroup

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
	for i := range w.helpers {
		w.helpers[i].wake = make(chan struct{}, 1)
		w.finished.Add(1)
		go w.help(i + 1)
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
	w.start()
	t.part(0, w.n)
	for i := w.spins; i > 0 && w.pending.Load() != 0; i-- {
	}
	for w.pending.Load() != 0 {
		w.waiting.Store(true)
		// Who clears waiting decides whether a token comes: one does unless
		// the caller clears it. A token may be late, of the round before.
		if w.pending.Load() != 0 || !w.waiting.CompareAndSwap(true, false) {
			<-w.done
		}
	}
	w.task = nil
}

// start lets every helper do its part of w.task, or end if that is nil.
func (w *workers) start() {
	w.pending.Store(int32(len(w.helpers)))
	w.round.Add(1)
	for i := range w.helpers {
		if h := &w.helpers[i]; h.asleep.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// help is the life of helper i.
func (w *workers) help(i int) {
	defer w.finished.Done()
	h := &w.helpers[i-1]
	for seen := uint32(0); ; {
		for i := w.spins; i > 0 && w.round.Load() == seen; i-- {
		}
		for w.round.Load() == seen {
			h.asleep.Store(true)
			// The same agreement as in run.
			if w.round.Load() == seen || !h.asleep.CompareAndSwap(true, false) {
				<-h.wake
			}
		}
		seen++
		if w.task == nil {
			return
		}
		w.task.part(i, w.n)
		if w.pending.Add(-1) == 0 && w.waiting.CompareAndSwap(true, false) {
			w.done <- struct{}{}
		}
	}
}

// close ends the goroutines. The workers may not be used again.
func (w *workers) close() {
	if w == nil || w.n == 1 {
		return
	}
	w.task = nil
	w.start()
	w.finished.Wait()
	w.n = 1
}

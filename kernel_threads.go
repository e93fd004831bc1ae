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
// A task has several parts for each thread. A thread begins with its own, whose
// data of the run before its caches have, and goes on to those of others that
// nobody has begun. So the caller, if the system is slow to give it another
// processor, does the work itself. Which thread does a part is the only thing
// that chance decides.
type workers struct {
	n      int
	kernel kernel
	spins  int // how often a waiting thread looks before it sleeps

	task    task
	number  atomic.Uint64 // of this run, from 1
	begun   []beginning   // each part's
	left    atomic.Int64  // its parts not yet done
	waiting atomic.Bool   // the caller sleeps until done
	done    chan struct{}

	helpers []helper
	closing atomic.Bool
	ended   sync.WaitGroup

	alone   int // runs that the caller does without helpers
	penalty int // and for how many more after the next wait in vain

	product product // the task of mul
}

// A helper is one goroutine of workers, as the caller sees it.
type helper struct {
	asleep atomic.Bool
	wake   chan struct{}
	_      [48]byte // keeps two helpers off one cache line
}

// A beginning is the number of the latest run that has begun a part.
type beginning struct {
	atomic.Uint64
	_ [56]byte // keeps two off one cache line
}

// chosen returns the kernel of w.
func (w *workers) chosen() kernel {
	if w == nil {
		return best
	}
	return w.kernel
}

// share is the parts of a task for each of several threads: processors are
// seldom equally fast, and the first to be done takes from the others.
const share = 2

// parts returns the parts of a task.
func (w *workers) parts() int {
	if w.threads() == 1 {
		return 1
	}
	return w.n * share
}

// newWorkers returns workers of the given number of threads, at least one,
// with the fastest kernel of this machine.
func newWorkers(threads int) *workers { return newWorkersKernel(threads, best) }

// newWorkersKernel is newWorkers with a kernel of the caller's choice.
func newWorkersKernel(threads int, k kernel) *workers {
	w := &workers{kernel: k}
	w.open(threads)
	return w
}

// open starts as many threads as are wanted beside the caller.
func (w *workers) open(threads int) {
	n := max(1, threads)
	w.n, w.begun, w.helpers = n, make([]beginning, n*share), make([]helper, n-1)
	w.done = make(chan struct{}, 1)
	w.number.Store(0)
	w.closing.Store(false)
	w.spins, w.alone, w.penalty = 0, 0, 0
	if runtime.GOMAXPROCS(0) >= n {
		// Some hundreds of microseconds: longer than what the caller does alone
		// between two tasks, and than it takes to wake a thread; shorter than
		// anyone would notice of an idle program. With fewer processors than
		// threads, spinning only stands in the way.
		w.spins = 300000
	}
	w.ended.Add(n - 1)
	for i := range w.helpers {
		w.helpers[i].wake = make(chan struct{}, 1)
		go w.help(&w.helpers[i], i+1)
	}
}

// resize changes the number of threads. A nil *workers stays as it is.
func (w *workers) resize(threads int) {
	if w == nil {
		return
	}
	w.close()
	w.open(threads)
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
	if w.alone > 0 {
		w.alone--
		t.part(0, 1)
		return
	}
	w.task = t
	w.left.Store(int64(w.parts()))
	w.start()
	done := w.work(w.number.Load(), 0)
	i := w.spins
	for ; i > 0 && w.left.Load() != 0; i-- {
	}
	if w.spins > 0 && i == 0 && done > w.parts()-w.n {
		// A helper began a part, did no other, and has not ended it: something
		// else has its processor. The more often that happens, the longer the
		// caller goes without helpers.
		w.penalty = min(2*w.penalty+32, 4096)
		w.alone = w.penalty
	} else if w.penalty > 0 && w.number.Load()%8 == 0 {
		w.penalty--
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

// runLarge is run for a task of some multiply-adds, which the caller does alone
// if they are few.
func (w *workers) runLarge(t task, multiplyAdds int) {
	if multiplyAdds < inline {
		w = nil
	}
	w.run(t)
}

// start begins a run and wakes the helpers.
func (w *workers) start() {
	w.number.Add(1)
	for i := range w.helpers {
		if h := &w.helpers[i]; h.asleep.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// work does parts of a run until all are begun, and returns how many: those of
// the given thread, and then the others' from the last on.
func (w *workers) work(run uint64, thread int) (done int) {
	for i := range share {
		done += w.try(run, thread*share+i)
	}
	for other := 1; other < w.n; other++ {
		for i := share - 1; i >= 0; i-- {
			done += w.try(run, (thread+other)%w.n*share+i)
		}
	}
	return done
}

// try does a part of a run unless somebody has begun it, and returns how many
// parts it has done.
func (w *workers) try(run uint64, i int) int {
	if begun := &w.begun[i]; begun.Load() != run-1 || !begun.CompareAndSwap(run-1, run) {
		return 0
	}
	// The run cannot end before this part, so that w.task is its task.
	w.task.part(i, w.parts())
	if w.left.Add(-1) == 0 && w.waiting.CompareAndSwap(true, false) {
		w.done <- struct{}{}
	}
	return 1
}

// help is the life of the helper of the given number.
func (w *workers) help(h *helper, number int) {
	defer w.ended.Done()
	run := uint64(0)
	idle := func() bool { return w.number.Load() == run }
	for {
		for i := w.spins; i > 0 && idle(); i-- {
		}
		for idle() {
			h.asleep.Store(true)
			// The same agreement as in run.
			if idle() || !h.asleep.CompareAndSwap(true, false) {
				<-h.wake
			}
		}
		run = w.number.Load()
		if w.closing.Load() {
			return // the number may be that of no run
		}
		w.work(run, number)
	}
}

// close ends the goroutines. The workers are then of one thread.
func (w *workers) close() {
	if w == nil || w.n == 1 {
		return
	}
	w.closing.Store(true)
	w.start()
	w.ended.Wait()
	w.n = 1
}

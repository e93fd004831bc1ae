package qta

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// A task is work on elements that are independent of each other.
type task interface {
	do(lo, hi int) // for the elements lo to hi, hi excluded
}

// Workers run tasks over a fixed number of threads, one of them the caller. They
// serve one caller at a time.
//
// A task has several parts for each thread, which are bands of its elements. A
// thread begins with its own parts, whose data its caches have from the run
// before, and goes on with any part that no thread has begun. So the caller does
// the work itself if the system is slow to give it another processor. Only which
// thread does a part is left to chance.
type workers struct {
	n      int // threads, the caller included
	kernel kernel
	spins  int // how often a waiting thread looks before it sleeps

	task   task
	size   int             // elements of the task
	number atomic.Uint64   // of this run, from 1, or closing
	begun  []atomic.Uint64 // for each part, the number of the latest run that began it
	left   atomic.Int64    // parts of this run not yet done

	mutex   sync.Mutex
	changed *sync.Cond // number, or left, to 0
	ended   sync.WaitGroup

	product    product       // the task of mul
	transposed transposition // the task of transpose
}

// closing is the number that ends the threads.
const closing = math.MaxUint64

// share is the number of parts of a task for each of several threads:
// processors are seldom equally fast, and the first to finish takes from the
// others.
const share = 2

// newWorkers returns workers of the given number of threads, at least one,
// with the fastest kernel of this machine.
func newWorkers(threads int) *workers {
	w := &workers{kernel: best}
	w.changed = sync.NewCond(&w.mutex)
	w.resize(threads)
	return w
}

// resize changes the number of threads. It does nothing to nil.
func (w *workers) resize(threads int) {
	if w == nil {
		return
	}
	w.number.Store(closing)
	w.wake()
	w.ended.Wait()

	w.n = max(1, threads)
	w.begun = make([]atomic.Uint64, w.n*share)
	w.number.Store(0)
	w.spins = 0
	if runtime.GOMAXPROCS(0) >= w.n {
		// Some hundreds of microseconds: longer than the caller's own work
		// between two tasks, and than waking a thread takes; too short for
		// anyone to notice in an idle program. With fewer processors than
		// threads, spinning only stands in the way.
		w.spins = 300000
	}
	for i := 1; i < w.n; i++ {
		w.ended.Go(func() { w.help(i) })
	}
}

// inline is the number of multiply-adds, or of what takes as long, below which
// another thread costs more than it saves.
const inline = 1 << 19

// run does t, of size elements that take as long as so many multiply-adds, and
// returns when it is done. It allocates nothing.
func (w *workers) run(t task, size, multiplyAdds int) {
	if w.n == 1 || multiplyAdds < inline {
		t.do(0, size)
		return
	}
	w.task, w.size = t, size
	w.left.Store(int64(len(w.begun)))
	run := w.number.Add(1)
	w.wake()
	w.work(run, 0)
	w.until(func() bool { return w.left.Load() == 0 })
}

// help is the loop of a thread other than the caller's.
func (w *workers) help(thread int) {
	run := uint64(0)
	for {
		w.until(func() bool { return w.number.Load() != run })
		if run = w.number.Load(); run == closing {
			return
		}
		w.work(run, thread)
	}
}

// work does parts of a run until all are begun, the thread's own first.
func (w *workers) work(run uint64, thread int) {
	parts := len(w.begun)
	for k := range parts {
		i := (thread*share + k) % parts
		if !w.begun[i].CompareAndSwap(run-1, run) {
			continue
		}
		// The run cannot end before this part, so that w.task is its task.
		if w.task.do(band(w.size, i, parts)); w.left.Add(-1) == 0 {
			w.wake()
		}
	}
}

// band returns the bounds of the i-th of n bands of size elements, at multiples of
// every tile's sides but six and twelve.
func band(size, i, n int) (lo, hi int) {
	const step = 32
	steps := (size + step - 1) / step
	return min(steps*i/n*step, size), min(steps*(i+1)/n*step, size)
}

// until returns when done reports true, after a change of number or left.
func (w *workers) until(done func() bool) {
	for range w.spins {
		if done() {
			return
		}
	}
	w.mutex.Lock()
	for !done() {
		w.changed.Wait()
	}
	w.mutex.Unlock()
}

// wake makes sleeping threads look again. Because of the lock a thread either
// sees the change before it falls asleep, or is asleep by now.
func (w *workers) wake() {
	w.mutex.Lock()
	w.changed.Broadcast()
	w.mutex.Unlock()
}

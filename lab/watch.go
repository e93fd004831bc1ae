package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"qta"
	"qta/internal/words"
)

// A watched environment is for work that takes no context, such as [qta.CheckEnv]. Once ctx
// is done, Reset begins no episode but returns an empty state. The work then ends as with a
// broken environment. If the work takes long, the watched environment says once what is
// going on.
type watched struct {
	qta.Env
	ctx      context.Context
	what     string // the work that is going on
	say      func(line string)
	begun    time.Time
	episodes int
	said     bool
}

// patience is how long work may take without a word.
const patience = 2 * time.Second

// watch returns env as a watched environment. The argument what describes the work.
func (o *Options) watch(ctx context.Context, env qta.Env, what string) *watched {
	return &watched{Env: env, ctx: ctx, what: what, say: o.Say, begun: time.Now()}
}

func (w *watched) Reset(rng *rand.Rand) qta.State {
	if w.ctx.Err() != nil {
		return qta.State{}
	}
	lasts := time.Since(w.begun)
	if lasts > patience && !w.said {
		w.said = true
		episodes := words.Count(w.episodes, "episode")
		w.say(fmt.Sprintf("%s: %s in %.0f s so far", w.what, episodes, lasts.Seconds()))
	}
	w.episodes++
	return w.Env.Reset(rng)
}

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// eventBudget writes events as Latchkey does: 100 at once and 10 a second, the rest in a summary every 10 seconds.
// Without a limit each object gets an event, as most controllers do it.
type eventBudget struct {
	recorder events.EventRecorder
	limit    *rate.Limiter
	leftOut  atomic.Int64
	last     atomic.Pointer[client.Object]
}

func newEventBudget(recorder events.EventRecorder, unlimited bool) *eventBudget {
	limit := rate.NewLimiter(10, 100)
	if unlimited {
		limit = rate.NewLimiter(rate.Inf, 0)
	}
	return &eventBudget{recorder: recorder, limit: limit}
}

func (b *eventBudget) issued(object client.Object, serial int64) {
	if !b.limit.Allow() {
		b.leftOut.Add(1)
		b.last.Store(&object)
		return
	}
	b.recorder.Eventf(object, nil, corev1.EventTypeNormal, "Issued", "Issue", "The credential with serial %d was issued.", serial)
}

// Start writes the summaries until the context ends.
func (b *eventBudget) Start(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			b.summarise()
		}
	}
}

func (b *eventBudget) summarise() {
	last := b.last.Swap(nil)
	if count := b.leftOut.Swap(0); count > 0 && last != nil {
		note := fmt.Sprintf("%d more events with reason Issued were not written one by one", count)
		b.recorder.Eventf(*last, nil, corev1.EventTypeNormal, "EventStorm", "Issue", "%s", note)
	}
}

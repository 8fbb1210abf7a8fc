package kube

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// RunReconcileWorker attends to what stands in a queue, one name after the other, until that is
// shut down: to a name again when attend says so, and soon where it fails, which
// is told.
func RunReconcileWorker(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string],
	attend func(context.Context, string) (again time.Duration, err error), tell func(string, error)) {
	for {
		name, over := queue.Get()
		if over {
			return
		}
		again, err := attend(ctx, name)
		switch {
		case err != nil && ctx.Err() == nil:
			tell(name, err)
			queue.AddRateLimited(name)
		case again > 0:
			queue.Forget(name)
			queue.AddAfter(name, again)
		default:
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

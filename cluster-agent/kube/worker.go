package kube

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// RunReconcileWorker takes keys from a work queue and reconciles them one at a time until
// the queue is shut down. After an error it calls logError and retries the key with the
// queue's rate limit; otherwise it reconciles the key once more after requeueAfter, if
// that is above zero. Several workers may share a queue: the queue never gives one key to
// two of them at once.
func RunReconcileWorker(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string],
	reconcile func(context.Context, string) (requeueAfter time.Duration, err error), logError func(string, error)) {
	for {
		key, shutDown := queue.Get()
		if shutDown {
			return
		}
		requeueAfter, err := reconcile(ctx, key)
		switch {
		case err != nil && ctx.Err() == nil:
			logError(key, err)
			queue.AddRateLimited(key)
		case requeueAfter > 0:
			queue.Forget(key) // resets the backoff
			queue.AddAfter(key, requeueAfter)
		default:
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

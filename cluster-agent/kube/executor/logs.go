package executor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

const (
	logReaders   = 4   // requests for logs that are read at a time
	waitingLogs  = 32  // requests that wait for one of them
	maxShownPods = 512 // of a run, by name
	maxLogLine   = 16 << 10
	logTimeout   = 6 * time.Second
	// maxSkipped bounds what is read of the second in which a request begins, as a kubelet knows whole
	// seconds only.
	maxSkipped = 32 << 20
)

// queueLogRequest has a request answered beside the work on runs; where too many wait it is answered so.
func (h *KubeExecutor) queueLogRequest(q protocol.LogRequest) {
	select {
	case h.logRequests <- q:
	default:
		h.sendToAgent(protocol.JobLog{Number: q.Number, Job: q.Job, Why: "reads many logs already: ask again"})
	}
}

// answerLogRequests answers requests for logs until ctx ends.
func (h *KubeExecutor) answerLogRequests(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-h.logRequests:
			h.sendToAgent(h.readLog(ctx, q))
		}
	}
}

// readLog returns what a pod of a run wrote.
func (h *KubeExecutor) readLog(ctx context.Context, q protocol.LogRequest) protocol.JobLog {
	out := protocol.JobLog{Number: q.Number, Job: q.Job}
	pods := h.podsToRead(q.Job, q.Epoch)
	if len(pods) == 0 {
		out.Why = fmt.Sprintf("has no pods of the run: none is there yet, or they were deleted; it keeps them for %v after the end", h.cfg.FinishedTTL)
		return out
	}
	for _, p := range pods[:min(len(pods), maxShownPods)] {
		out.Pods = append(out.Pods, p.Name)
	}
	p := pods[0]
	if q.Pod != "" {
		i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == q.Pod })
		if i < 0 {
			out.Why = "has no pod of that name in the run"
			return out
		}
		p = pods[i]
	}
	out.Pod = p.Name
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	text, err := h.cfg.Client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, logOptions(p, q)).Stream(ctx)
	if err == nil {
		defer text.Close()
		out.Lines, out.More, err = readLogLines(text, q.After)
	}
	switch {
	case err == nil:
	case apierrors.IsForbidden(err):
		out.Why = "may not read logs of pods: its agent's role lacks pods/log (logs: true in the terms of the chart grants it)"
	case apierrors.IsBadRequest(err): // the container waits to start
		out.Why = "has no log of pod " + p.Name + " yet: its container has not started"
	default:
		h.cfg.Log.Warn("the log of a pod could not be read", "pod", p.Name, "error", err)
		out.Why = "could not read the log of pod " + p.Name + ": ask again"
	}
	return out
}

// podsToRead returns the pods of a run by name, also of one that has ended.
func (h *KubeExecutor) podsToRead(job protocol.JobID, epoch uint64) (pods []*corev1.Pod) {
	name := kube.RunName(job, epoch)
	h.mu.Lock()
	r := h.runs[name]
	h.mu.Unlock()
	if r != nil && r.namespace != "" {
		pods = h.podsOfRun(r)
	} else {
		list, _ := h.inv.PodCache.ByIndex(indexByRun, name)
		for _, o := range list {
			if p := o.(*corev1.Pod); slices.Contains(h.cfg.Namespaces, p.Namespace) {
				pods = append(pods, p)
			}
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// logOptions returns what is asked of the kubelet: lines of the pod's main container, with their times.
func logOptions(p *corev1.Pod, q protocol.LogRequest) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Timestamps: true, Container: p.Annotations["kubectl.kubernetes.io/default-container"]}
	if !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == o.Container }) && len(p.Spec.Containers) > 0 {
		o.Container = p.Spec.Containers[0].Name
	}
	if q.After > 0 {
		since := metav1.NewTime(time.Unix(0, q.After).Truncate(time.Second))
		o.SinceTime = &since
	}
	if q.Tail > 0 {
		tail := int64(q.Tail)
		o.TailLines = &tail
	}
	return o
}

// readLogLines reads lines with their times, of which it returns those after an instant: as many as an
// answer may have. More says that others follow. Lines of one instant are not divided, unless they alone are
// too many: who asks for what follows would miss the rest of them.
func readLogLines(text io.Reader, after int64) (lines []protocol.LogLine, more bool, err error) {
	in := bufio.NewReaderSize(text, maxLogLine)
	size, skipped := 0, 0
	for {
		raw, err := readCutLine(in)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return lines, more, err
		}
		stamp, rest, _ := strings.Cut(raw, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || at.Year() < 1970 || at.Year() > 2200 || at.UnixNano() <= after {
			if skipped += len(raw) + 1; skipped > maxSkipped {
				return lines, false, errors.New("kube: too much was written in one second")
			}
			continue
		}
		l := protocol.LogLine{At: at.UnixNano(), Text: strings.ToValidUTF8(rest, "\uFFFD")}
		if size += len(l.Text) + 16; size > protocol.MaxJobLog {
			whole := lines
			for len(whole) > 0 && whole[len(whole)-1].At == l.At {
				whole = whole[:len(whole)-1]
			}
			if len(whole) == 0 {
				whole = lines
			}
			return whole, true, nil
		}
		lines = append(lines, l)
	}
}

// readCutLine reads a line, without its end; what is beyond maxLogLine bytes of it is left out.
func readCutLine(in *bufio.Reader) (string, error) {
	raw, err := in.ReadSlice('\n')
	line := string(raw)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/external"
	"github.com/gridbid/gridbid/protocol"
)

// pods is the key of a run's pods in the index of them.
func (r *run) pods() string {
	if r.lent.Kueue != "" {
		return r.space + "/" + r.lent.Object
	}
	return r.name
}

// runsOfPod are the keys of a pod: its run, or the Job that it belongs to.
func runsOfPod(p *corev1.Pod) []string {
	if name := p.Labels[kube.LabelRun]; name != "" {
		return []string{name}
	}
	if job := p.Labels[batchv1.JobNameLabel]; job != "" {
		return []string{p.Namespace + "/" + job}
	}
	return nil
}

// runOf returns the name of the run that a pod belongs to, or "".
func (h *Hands) runOf(p *corev1.Pod) string {
	if name := p.Labels[kube.LabelRun]; name != "" || p.Labels[batchv1.JobNameLabel] == "" {
		return name
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range h.runs {
		if r.lent.Kueue != "" && r.pods() == p.Namespace+"/"+p.Labels[batchv1.JobNameLabel] {
			return name
		}
	}
	return ""
}

// ours reports whether a pod on a node belongs to a run that has its place there.
func (h *Hands) ours(p *corev1.Pod, node string) bool {
	name := h.runOf(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[name]
	return r != nil && r.space == p.Namespace && (r.lent.Kueue == "" || r.launch.Node == node)
}

// borrow takes up a run whose task names a Job that is there, or will be, and
// reports whether it does.
func (h *Hands) borrow(ctx context.Context, r *run) (lent bool, err error) {
	var t metav1.PartialObjectMetadata
	if json.Unmarshal([]byte(r.launch.Task), &t) != nil || t.Annotations[kube.NoteRelease] == "" && t.Annotations[kube.NoteKueue] == "" {
		return false, nil
	}
	h.places(r, &kinds[0], t.Namespace, "", external.Loan{Object: t.Name, Kueue: t.Annotations[kube.NoteKueue]})
	why := ""
	if !slices.Contains(h.cfg.Namespaces, r.space) {
		why = fmt.Sprintf("namespace %q is none of this site's; want one of %s", r.space, strings.Join(h.cfg.Namespaces, ", "))
	} else if r.lent.Kueue == "" {
		if why, err = h.release(ctx, r, t.Annotations[kube.NoteRelease]); err != nil && passing(err) {
			return true, err
		} else if err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		h.lose(r, protocol.Reason{Code: protocol.Refused, Note: why})
		return true, nil
	}
	h.begun(r)
	return true, nil
}

// onLoan is a run that consists of another's Job, for those who handle it.
func (r *run) onLoan() external.Run {
	return external.Run{Loan: r.lent, Name: r.name, Namespace: r.space, Launch: r.launch}
}

// release lets the suspended Job of a run go, or says why it cannot.
func (h *Hands) release(ctx context.Context, r *run, uid string) (why string, err error) {
	patch, why, err := h.jobs.PrepareRelease(ctx, r.onLoan(), uid)
	if patch == nil {
		return why, err
	}
	if r.asked == 0 {
		r.asked = h.cfg.Now()
	}
	return "", h.jobs.Release(ctx, r.onLoan(), patch)
}

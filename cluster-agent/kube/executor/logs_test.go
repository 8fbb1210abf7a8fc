package executor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/protocol"
)

// A logCluster is an API server that has the logs of pods.
type logCluster struct {
	*KubeExecutor
	asked []url.Values
	logs  map[string]string // by pod
	code  int
}

func newLogCluster(t *testing.T) *logCluster {
	c := &logCluster{logs: make(map[string]string), code: http.StatusOK}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked = append(c.asked, r.URL.Query())
		name, _ := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/jobs/pods/"), "/log")
		if c.code != http.StatusOK {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, map[int]string{403: "Forbidden", 400: "BadRequest"}[c.code], c.code)
			return
		}
		fmt.Fprint(w, c.logs[name])
	}))
	t.Cleanup(srv.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	c.KubeExecutor = New(Config{Site: "oslo", Client: client, Namespaces: []string{"jobs"}})
	c.inv.PodCache = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{indexByRun: func(o any) ([]string, error) { return runKeysOfPod(o.(*corev1.Pod)), nil }})
	return c
}

// add adds a pod of a run.
func (c *logCluster) add(t *testing.T, namespace, name string, job protocol.JobID, epoch uint64, containers ...string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{kube.LabelRun: kube.RunName(job, epoch)}}}
	for _, n := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: n})
	}
	if err := c.inv.PodCache.Add(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// What a pod of the run wrote is answered from the instant on that was asked for, and no pod of another run
// or namespace is read.
func TestLogsAreReadOfPodsOfTheRunOnly(t *testing.T) {
	c := newLogCluster(t)
	c.add(t, "jobs", "a-1", "a", 2, "main", "side").Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "side"}
	c.add(t, "jobs", "a-0", "a", 2, "main")
	c.add(t, "jobs", "old", "a", 1, "main")
	c.add(t, "elsewhere", "forged", "a", 2, "main")
	c.add(t, "jobs", "b-0", "b", 1, "main")
	c.logs["a-0"] = "2026-11-24T10:00:00.000000001Z one\nno time\n2026-11-24T10:00:00.000000002Z two\x1b[2J\xff\n2026-11-24T10:00:01Z \n"
	got := c.readLog(t.Context(), protocol.LogRequest{Number: 7, Job: "a", Epoch: 2, Tail: 10})
	if fmt.Sprint(got.Pods) != "[a-0 a-1]" || got.Pod != "a-0" || got.Number != 7 || got.More || got.Why != "" || len(got.Lines) != 3 || got.Lines[1].Text != "two\x1b[2J\uFFFD" || got.Lines[2].Text != "" {
		t.Errorf("%+v", got)
	}
	if q := c.asked[0]; q.Get("container") != "main" || q.Get("timestamps") != "true" || q.Get("tailLines") != "10" || q.Get("sinceTime") != "" {
		t.Errorf("asked for %v", q)
	}
	got = c.readLog(t.Context(), protocol.LogRequest{Job: "a", Epoch: 2, After: got.Lines[0].At})
	if len(got.Lines) != 2 || !strings.HasPrefix(got.Lines[0].Text, "two") || c.asked[1].Get("sinceTime") != "2026-11-24T10:00:00Z" {
		t.Errorf("after the first line: %+v, asked for %v", got, c.asked[1])
	}
	if c.readLog(t.Context(), protocol.LogRequest{Job: "a", Epoch: 2, Pod: "a-1"}); c.asked[2].Get("container") != "side" {
		t.Errorf("asked for %v", c.asked[2])
	}
	asked := len(c.asked)
	for _, q := range []protocol.LogRequest{{Job: "a", Epoch: 2, Pod: "b-0"}, {Job: "a", Epoch: 2, Pod: "old"}, {Job: "a", Epoch: 2, Pod: "forged"}, {Job: "a", Epoch: 9}, {Job: "c", Epoch: 1}} {
		if got := c.readLog(t.Context(), q); got.Why == "" || len(got.Lines) > 0 {
			t.Errorf("%+v: %+v", q, got)
		}
	}
	if len(c.asked) != asked {
		t.Errorf("the API server was asked for %v", c.asked[asked:])
	}
	for code, want := range map[int]string{403: "lacks pods/log", 400: "has not started", 500: "could not read"} {
		c.code = code
		if got := c.readLog(t.Context(), protocol.LogRequest{Job: "a", Epoch: 2}); !strings.Contains(got.Why, want) {
			t.Errorf("%d: %+v; want %q", code, got, want)
		}
	}
}

// By asking for what follows the last line, again and again, every line is had once, however long the log.
func TestALongLogIsReadToItsEndInBoundedAnswers(t *testing.T) {
	var text strings.Builder
	began := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&text, "%s line %d %s\n", began.Add(time.Duration(i/3)*time.Microsecond).Format(time.RFC3339Nano), i, strings.Repeat("x", i%200))
	}
	after, seen := int64(0), 0
	for answers := 1; ; answers++ {
		lines, more, err := readLogLines(strings.NewReader(text.String()), after)
		if err != nil || len(lines) == 0 {
			t.Fatalf("after %d lines: %d, %v", seen, len(lines), err)
		}
		size := 0
		for _, l := range lines {
			if !strings.HasPrefix(l.Text, fmt.Sprintf("line %d ", seen)) {
				t.Fatalf("line %d is %q", seen, l.Text)
			}
			seen++
			size += len(l.Text)
		}
		if size > protocol.MaxJobLog {
			t.Fatalf("an answer of %d bytes", size)
		}
		if after = lines[len(lines)-1].At; !more {
			if seen != n || answers < 5 {
				t.Errorf("%d lines of %d in %d answers", seen, n, answers)
			}
			return
		}
	}
}

func FuzzLogLines(f *testing.F) {
	f.Add("2026-11-24T10:00:00.000000001Z one\n\n2026-11-24T10:00:00Z", int64(5))
	f.Add(strings.Repeat("2026-11-24T10:00:00.1Z "+strings.Repeat("y", maxLogLine)+"\n", 40), int64(0))
	f.Fuzz(func(t *testing.T, text string, after int64) {
		lines, more, err := readLogLines(strings.NewReader(text), after)
		size := 0
		for _, l := range lines {
			if size += len(l.Text); l.At <= after || !utf8.ValidString(l.Text) || strings.Contains(l.Text, "\n") {
				t.Errorf("%+v after %d", l, after)
			}
		}
		if err != nil || size > protocol.MaxJobLog || more && len(lines) == 0 {
			t.Errorf("%d lines of %d bytes, more %t, %v", len(lines), size, more, err)
		}
	})
}

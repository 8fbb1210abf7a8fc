//go:build kube && linux && cgo

package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/kubetest"
	"github.com/gridbid/gridbid/cluster-agent/kube/node"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/cluster-agent/nvml/nvmltest"
	"github.com/gridbid/gridbid/internal/kubeenv"
	"github.com/gridbid/gridbid/protocol"
)

// period is that of the guard.
const period = 10 * time.Second

// TestMain plays a daemon and its guard in processes of their own, so that they
// can be killed.
func TestMain(m *testing.M) {
	library, file := os.Getenv("NODE_LIBRARY"), os.Getenv("NODE_FILE")
	var err error
	switch os.Getenv("NODE_PLAY") {
	case "guard":
		err = nvml.RunGuard(os.Stdin, period, library, file)
	case "daemon":
		err = daemon(context.Background(), os.Getenv("NODE_KUBECONFIG"), library, file, 0)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// daemon lives on gpu-000 with the cards of a stand-in, and has a guard.
func daemon(ctx context.Context, kubeconfig, library, file string, ceiling protocol.Milliwatts) error {
	client, _, err := kube.ConnectCluster(kubeconfig)
	if err != nil {
		return err
	}
	cfg := node.Config{Node: "gpu-000", Client: client, ReadInterval: 300 * time.Millisecond, ReportInterval: time.Second, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	lib, err := nvml.OpenLibrary(library)
	if errors.Is(err, nvml.ErrNoLibrary) {
		cfg.NoGPUsReason = err.Error()
		return node.New(cfg).Run(ctx)
	}
	if err != nil {
		return err
	}
	defer lib.Close()
	devices, err := lib.ListDevices()
	if err != nil {
		return err
	}
	if cfg.GPUs, err = gpuaccounting.New(devices, gpuaccounting.Config{Caps: nvml.CapsConfig{NotesFile: file, MinChangeInterval: 100 * time.Millisecond}}); err != nil {
		return err
	}
	if ceiling > 0 {
		cfg.Owned = "oslo"
		cfg.Budget = &node.PowerBudget{Table: node.ConfigMapStore{Client: client, Namespace: "default", Name: "agent-ceiling"}, Node: "gpu-000", Ceiling: ceiling}
	}
	w, err := nvml.StartGuard(func() *exec.Cmd {
		guard := exec.Command(os.Args[0])
		guard.Env = append(os.Environ(), "NODE_PLAY=guard", "NODE_LIBRARY="+library, "NODE_FILE="+file)
		return guard
	})
	if err != nil {
		return err
	}
	cfg.GuardHeartbeat = w.SendHeartbeat
	err = node.New(cfg).Run(ctx)
	return errors.Join(err, w.StopGuard())
}

// A bench is a control plane with an executor, a test in the role of the agent, and fake GPUs.
type bench struct {
	*kubetest.Cluster
	conn          bus.Conn
	sender        protocol.Sender
	w             *nvmltest.FakeMachine
	library, file string
	kubeconfig    string // of the daemon
}

func newBench(t *testing.T) *bench {
	c := kubetest.New(t, kubeenv.PlaneOptions{})
	c.AddNodes(2, "oslo")
	b := &bench{Cluster: c, sender: protocol.Sender{Party: "agent/oslo"}, file: filepath.Join(t.TempDir(), "limits.json")}
	b.library, b.w = nvmltest.BuildFakeLibrary(t, 4)
	b.w.Real = 1
	for i := range b.w.GPU {
		b.w.GPU[i].Demand = 650_000
	}
	b.kubeconfig = c.NodeDaemonKubeconfig("gpu-000", "default")
	hub := new(membus.Bus)
	var err error
	b.conn, err = hub.Connect(t.Context(), "agent/oslo")
	c.FailOnError(err)
	cfg := executor.Config{Site: "oslo", Sharing: kube.SharingDRA, EnergyReportTimeout: 20 * time.Second}
	c.FailOnError(cfg.ConnectToCluster(c.AgentKubeconfig("dra", "default")))
	ctx, cancel := context.WithCancel(context.Background())
	port, err := hub.Connect(ctx, protocol.ExecutorParty("oslo"))
	c.FailOnError(err)
	var done sync.WaitGroup
	done.Go(func() { _ = executor.New(cfg).Run(ctx, port) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return b
}

// start runs a daemon in this process, until stop.
func (b *bench) start(library string, ceiling protocol.Milliwatts) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := daemon(ctx, b.kubeconfig, library, b.file, ceiling); !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	b.Cleanup(stop)
	return stop
}

func (b *bench) launch(id string, cap protocol.Milliwatts, devices ...int) {
	b.Helper()
	j := protocol.Job{ID: protocol.JobID(id), GPUs: len(devices), Share: 1000, CPU: 4000, Memory: 16 << 10, Run: time.Hour}
	l := protocol.Launch{Job: j, Epoch: 1, Node: "gpu-000", Devices: devices, Model: "H100", Cap: cap, Run: time.Hour, Power: 111_000, Task: kubetest.BatchJobTask(0, 1, 0, nil)}
	b.FailOnError(b.conn.Send(b.Context(), b.sender.NewMessage(protocol.FromStdTime(time.Now()), "hands/oslo", l)))
}

// exited waits for the end of a job.
func (b *bench) exited(id string) protocol.Finished {
	b.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case m := <-b.conn.Messages():
			switch x := m.Body.(type) {
			case protocol.Finished:
				if string(x.Job) == id {
					return x
				}
			case protocol.Interrupted:
				b.Fatalf("lost: %+v", x)
			}
		case <-limit:
			b.Fatalf("%s did not exit", id)
		}
	}
}

// until waits until something holds.
func (b *bench) until(what string, holds func() bool) time.Duration {
	b.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > time.Minute {
			b.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// pod returns the only pod of a job, and its condition of ours.
func (b *bench) pod(job string) (corev1.Pod, corev1.PodCondition) {
	b.Helper()
	list, err := b.Client.CoreV1().Pods("default").List(b.Context(), metav1.ListOptions{LabelSelector: kube.LabelRun})
	b.FailOnError(err)
	for _, p := range list.Items {
		if p.Annotations[kube.AnnotationJob] != job {
			continue
		}
		for _, c := range p.Status.Conditions {
			if c.Type == node.PowerCapCondition {
				return p, c
			}
		}
		return p, corev1.PodCondition{}
	}
	return corev1.Pod{}, corev1.PodCondition{}
}

// end ends the pod of a job after it has run for a while, as a kubelet does, and
// returns for how many seconds it ran: longer on a busy machine. The plane's own
// stage would begin to wait anew with each note on the pod.
func (b *bench) end(job string, run time.Duration) float64 {
	b.Helper()
	var p corev1.Pod
	b.until("the pod runs", func() bool { p, _ = b.pod(job); return p.Status.Phase == corev1.PodRunning })
	time.Sleep(time.Until(p.Status.StartTime.Add(run)))
	done := metav1.Now()
	text, err := json.Marshal(map[string]any{"status": map[string]any{"phase": "Succeeded", "containerStatuses": []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: *p.Status.StartTime, FinishedAt: done}},
	}}}})
	b.FailOnError(err)
	_, err = b.Client.CoreV1().Pods("default").Patch(b.Context(), p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	b.FailOnError(err)
	return done.Sub(p.Status.StartTime.Time).Seconds()
}

// within says whether millijoules are what a job of some cards at a draw, for as
// long as its pod ran, comes to.
func (b *bench) within(x protocol.Finished, cards int, watts, seconds float64) {
	b.Helper()
	var sum float64
	for _, s := range x.Draw {
		sum += float64(s.Energy) / 1000
	}
	const idle, cores = 70, 16 // W: of an H100 in the power table, and of four cores
	want := seconds * (float64(cards)*(watts-idle) + cores)
	b.Logf("%s: %.0f J measured, %.0f J by physics of %.1f s", x.Job, sum, want, seconds)
	if sum < 0.6*want || sum > 1.4*want { // the pod's times are whole seconds
		b.Errorf("%s drew %.0f J, want about %.0f", x.Job, sum, want)
	}
}

func TestPowerCapIsAppliedAndEnergySettled(t *testing.T) {
	b := newBench(t)
	stop := b.start(b.library, 0)
	b.launch("capped", 300_000, 1, 2)
	b.until("the cap", func() bool { return b.w.GPU[1].Limit == 300_000 && b.w.GPU[2].Limit == 300_000 })
	if b.w.GPU[0].Limit != 700_000 || b.w.GPU[3].Limit != 700_000 {
		t.Errorf("other cards have limits of %d and %d mW", b.w.GPU[0].Limit, b.w.GPU[3].Limit)
	}
	b.until("the condition", func() bool { _, c := b.pod("capped"); return c.Reason == "Capped" })
	seconds := b.end("capped", 6*time.Second)
	x := b.exited("capped")
	if x.Estimated {
		p, c := b.pod("capped")
		t.Errorf("measured energy is called an estimate: %+v, pod says %q %q", x, p.Annotations, c.Message)
	}
	b.within(x, 2, 300, seconds)
	b.until("the default limit", func() bool { return b.w.GPU[1].Limit == 700_000 && b.w.GPU[2].Limit == 700_000 })

	// Without the right to set limits: reported on the pod, and measured all the same.
	stop()
	b.w.Forbidden = 1
	stop = b.start(b.library, 0)
	b.launch("free", 300_000, 0)
	b.until("the condition", func() bool {
		_, c := b.pod("free")
		return c.Reason == "NotPermitted" && c.Status == corev1.ConditionFalse
	})
	seconds = b.end("free", 5*time.Second)
	if x = b.exited("free"); x.Estimated {
		t.Errorf("%+v", x)
	}
	b.within(x, 1, 650, seconds)

	// A card that falls off the bus: no measurement, and the report says so.
	stop()
	b.w.Forbidden = 0
	stop = b.start(b.library, 0)
	b.launch("falls", 0, 3)
	b.until("the condition", func() bool { _, c := b.pod("falls"); return c.Reason == "NoCap" })
	b.w.GPU[3].Lost = 1
	b.until("the condition", func() bool { _, c := b.pod("falls"); return c.Reason == "CardLost" })
	b.end("falls", 0)
	if x = b.exited("falls"); !x.Estimated {
		t.Errorf("%+v", x)
	}
	stop()
}

func TestEnergyIsEstimatedWithoutDriver(t *testing.T) {
	b := newBench(t)
	b.start(filepath.Join(t.TempDir(), "libnvidia-ml.so.1"), 0)
	b.launch("dark", 300_000, 1)
	b.end("dark", 2*time.Second)
	x := b.exited("dark")
	if !x.Estimated || len(x.Draw) == 0 {
		t.Errorf("%+v", x)
	}
	if _, c := b.pod("dark"); c.Reason != "NoCards" || !strings.Contains(c.Message, "driver library") {
		t.Errorf("%+v", c)
	}
}

// A daemon is killed as nothing else is, in mid-flight. Its guard puts limits
// back; the next one takes up where it was, and no energy is missing.
func TestKilledDaemonRestoresLimitsAndKeepsEnergy(t *testing.T) {
	b := newBench(t)
	begin := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "NODE_PLAY=daemon", "NODE_KUBECONFIG="+b.kubeconfig, "NODE_LIBRARY="+b.library, "NODE_FILE="+b.file)
		cmd.Stderr = os.Stderr
		b.FailOnError(cmd.Start())
		return cmd
	}
	first := begin()
	b.launch("long", 400_000, 1)
	b.until("the cap", func() bool { return b.w.GPU[1].Limit == 400_000 })
	b.until("a note", func() bool { p, _ := b.pod("long"); return p.Annotations["gridbid.io/drew"] != "" })
	_ = first.Process.Signal(syscall.SIGKILL)
	dead := time.Now()
	_ = first.Wait()
	b.until("the guard", func() bool { return b.w.GPU[1].Limit == 700_000 })
	took := time.Since(dead)
	t.Logf("limits were back %v after the kill; the guard's period is %v", took.Round(time.Millisecond), period)
	if took > period {
		t.Errorf("a lowered limit stood for %v after its daemon was killed", took)
	}
	time.Sleep(2 * time.Second) // uncapped, and unseen
	second := begin()
	b.until("the cap again", func() bool { return b.w.GPU[1].Limit == 400_000 })
	seconds := b.end("long", 12*time.Second)
	x := b.exited("long")
	if x.Estimated {
		t.Errorf("%+v", x)
	}
	b.within(x, 1, 450, seconds) // some seconds at 650 W
	_ = second.Process.Signal(syscall.SIGKILL)
	_ = second.Wait()
}

func TestDaemonHasNoFurtherRights(t *testing.T) {
	b := newBench(t)
	b.start(b.library, 0)
	b.launch("mine", 0, 1)
	b.until("the condition", func() bool { _, c := b.pod("mine"); return c.Reason == "NoCap" })
	p, _ := b.pod("mine")
	client, _, err := kube.ConnectCluster(b.kubeconfig)
	b.FailOnError(err)
	other, err := b.Client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"},
		Spec:       corev1.PodSpec{NodeName: "gpu-001", Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/x:1"}}},
	}, metav1.CreateOptions{})
	b.FailOnError(err)
	patch := func(name, text string, sub ...string) error {
		_, err := client.CoreV1().Pods("default").Patch(t.Context(), name, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{}, sub...)
		return err
	}
	for what, err := range map[string]error{
		"an image":              patch(p.Name, `{"spec":{"containers":[{"name":"main","image":"evil:1"}]}}`),
		"a phase":               patch(p.Name, `{"status":{"phase":"Failed"}}`, "status"),
		"a label":               patch(p.Name, `{"metadata":{"labels":{"gridbid.io/run":"other"}}}`, "status"),
		"a pod of another node": patch(other.Name, `{"metadata":{"annotations":{"gridbid.io/drew":"{}"}}}`, "status"),
		"a secret": func() error {
			_, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
			return err
		}(),
		"another ConfigMap": func() error {
			_, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
			return err
		}(),
		"pods of another namespace": func() error {
			_, err := client.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{})
			return err
		}(),
	} {
		if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v; want it forbidden", what, err)
		}
	}
}

// A site's ceiling is shared through a ConfigMap, by the rights of the chart.
func TestCeilingHoldsOnRealCluster(t *testing.T) {
	b := newBench(t)
	stop := b.start(b.library, 2_000_000)
	sum := func() (all uint32) {
		for _, g := range b.w.GPU {
			all += g.Limit
		}
		return all
	}
	b.until("the ceiling", func() bool { return sum() <= 2_000_000 })
	b.until("a fair part", func() bool { return sum() == 2_000_000 })
	m, err := b.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "agent-ceiling", metav1.GetOptions{})
	b.FailOnError(err)
	if !strings.Contains(m.Data["gpu-000"], `"held_mw":2000000`) {
		t.Errorf("the table is %v", m.Data)
	}
	// Another node comes and wants as much; ours goes down before its row is changed.
	m.Data["gpu-001"] = `{"gpus":4,"least_mw":800000,"most_mw":2800000,"held_mw":0,"at_ms":` + strconv.FormatInt(time.Now().UnixMilli(), 10) + `}`
	_, err = b.Client.CoreV1().ConfigMaps("default").Update(t.Context(), m, metav1.UpdateOptions{})
	b.FailOnError(err)
	b.until("half of it", func() bool { return sum() == 1_000_000 })
	_, err = b.Client.CoreV1().Nodes().Patch(t.Context(), "gpu-000", types.StrategicMergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
	b.FailOnError(err)
	b.until("cards that are not the site's any more", func() bool { return sum() == 4*700_000 })
	stop()
	if sum() != 4*700_000 {
		t.Errorf("limits sum to %d when the daemon has ended", sum())
	}
}

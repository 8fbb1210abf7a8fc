package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/gpuaccounting"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/node"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/protocol"
)

const nodeHelp = `cluster-agent node runs on each GPU node of a cluster. It holds the GPUs of the
market's pods to the power caps of their awards and to the site's ceiling, if
there is one, and writes on each pod how much energy its part of the GPUs drew.
Limits and clocks are restored when a job ends and when the daemon ends; if it is
killed, its guard restores them within --period. With --idle-clocks lowest it locks the
clocks of unused GPUs to the lowest ones until a pod gets them.

  cluster-agent node --node gpu-001 --state /var/lib/gridbid/node/limits.json

Without --heartbeat it starts a guard of its own. When a container ends, all its
processes end: in containers, run cluster-agent guard in a second one, and give both
the same --heartbeat and --state.`

// nodeOptions are the flags of `cluster-agent node`.
type nodeOptions struct {
	node, kubeconfig, library, state, heartbeat, budget string
	spaces, kubelet, curves, owned, idleClocks          string
	level, format                                       string
	interval, report, period                            time.Duration
	ceiling, site                                       float64
}

// runNode is `cluster-agent node`: it parses the flags and runs the node's daemon
// until a signal ends it.
func runNode(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent node", flag.ContinueOnError)
	fs.SetOutput(out)
	var o nodeOptions
	fs.StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "`NAME` of the node that this is (default: NODE_NAME of the environment)")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` that says how the API server is reached (default: as a pod of the cluster)")
	fs.StringVar(&o.spaces, "namespaces", "default", "namespaces of jobs, between commas")
	fs.StringVar(&o.kubelet, "kubelet", "", "`SOCKET` of the kubelet's pod resources, where the kubelet chooses the cards (sharing: plugin)")
	fs.StringVar(&o.curves, "curves", "", "`FILE,FILE,...` that cluster-agent powercal --clocks wrote: the daemon keeps their caps by the clock")
	fs.StringVar(&o.idleClocks, "idle-clocks", "keep", "`CLOCKS` of GPUs that no pod and no program uses: keep (leave them alone) or lowest; not for nodes where other programs lock clocks")
	fs.StringVar(&o.library, "library", "", "`FILE` of the NVIDIA library (default: where the system has it)")
	fs.StringVar(&o.state, "state", "", "`FILE` where lowered limits are recorded; it must survive the process")
	fs.StringVar(&o.heartbeat, "heartbeat", "", "`FILE` to touch, for a guard in another container")
	fs.DurationVar(&o.interval, "every", 5*time.Second, "time between two readings of the GPUs")
	fs.DurationVar(&o.report, "report", time.Minute, "time between two reports on a running pod")
	fs.DurationVar(&o.period, "period", 10*time.Second, "how long a guard waits for a heartbeat")
	fs.Float64Var(&o.ceiling, "ceiling", 0, "`WATTS` that the limits of this machine's cards may sum to (0: any)")
	fs.Float64Var(&o.site, "site-ceiling", 0, "`WATTS` that the limits of all nodes' cards may sum to (0: any); needs --budget")
	fs.StringVar(&o.budget, "budget", "", "`NAMESPACE/NAME` of the ConfigMap in which nodes share the site's ceiling")
	fs.StringVar(&o.owned, "owned", "", "`SITE` whose taint gridbid.io/owned a node must bear for its cards to count for --site-ceiling and --idle-clocks (default: all do)")
	fs.StringVar(&o.level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&o.format, "log-format", "text", "text or json")
	fs.Usage = func() {
		fmt.Fprintln(out, nodeHelp)
		fs.PrintDefaults()
	}
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	if err := o.validateOptions(); err != nil {
		return err
	}
	log, err := daemon.NewLogger(out, o.level, o.format)
	if err != nil {
		return err
	}
	daemon.IgnoreBrokenPipe()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return o.serveNode(ctx, log)
}

// jobNamespaces returns the namespaces whose pods are watched.
func (o nodeOptions) jobNamespaces() (all []string) {
	for _, name := range strings.Split(o.spaces, ",") {
		all = append(all, strings.TrimSpace(name))
	}
	return all
}

// validateOptions returns an error for flags that are missing, out of range or contradictory.
func (o nodeOptions) validateOptions() error {
	space, name, ok := strings.Cut(o.budget, "/")
	switch {
	case o.node == "" || o.state == "":
		return errors.New("--node and --state are required: see cluster-agent node --help")
	case slices.Contains(o.jobNamespaces(), ""):
		return fmt.Errorf("--namespaces %q: want names joined by commas", o.spaces)
	case o.interval <= 0 || o.report <= 0 || o.period <= 0 || o.interval > o.period/2:
		return fmt.Errorf("--every %v, --report %v, --period %v: want durations above 0, and --every at most half of --period, as the guard would otherwise reset limits while the agent is alive", o.interval, o.report, o.period)
	case !(o.ceiling >= 0 && o.ceiling < 1e6) || !(o.site >= 0 && o.site < 1e9):
		return fmt.Errorf("--ceiling %v, --site-ceiling %v: want watts, below 1 MW and 1 GW", o.ceiling, o.site)
	case o.idleClocks != "keep" && o.idleClocks != "lowest":
		return fmt.Errorf("--idle-clocks %q: want keep or lowest", o.idleClocks)
	case o.site > 0 && (!ok || space == "" || name == ""):
		return errors.New("--site-ceiling needs the ConfigMap through which nodes share it: add --budget NAMESPACE/NAME")
	}
	return nil
}

// serveNode runs the node's daemon until ctx ends, which is no error.
func (o nodeOptions) serveNode(ctx context.Context, log *slog.Logger) error {
	client, _, err := kube.ConnectCluster(o.kubeconfig)
	if err != nil {
		return err
	}
	cfg := node.Config{Node: o.node, Client: client, Namespaces: o.jobNamespaces(), ReadInterval: o.interval, ReportInterval: o.report, Owned: o.owned, Log: log}
	if o.kubelet != "" {
		cfg.Chosen = node.KubeletClient{Socket: o.kubelet}.ChosenGPUs
	}
	lib, err := o.openGPUs(&cfg, log)
	if err != nil {
		return err
	}
	if o.heartbeat != "" {
		cfg.GuardHeartbeat = func() error { return nvml.TouchHeartbeat(o.heartbeat) } // a kubelet's probe reads it, too
	}
	if lib != nil {
		defer lib.Close()
		end, err := o.startGuard(&cfg)
		if err != nil {
			return err
		}
		defer end()
	}
	if space, name, ok := strings.Cut(o.budget, "/"); ok && o.site > 0 {
		cfg.Budget = &node.PowerBudget{Table: node.ConfigMapStore{Client: client, Namespace: space, Name: name}, Node: o.node, Ceiling: protocol.Milliwatts(o.site * 1000)}
	}
	if err := node.New(cfg).Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// openGPUs opens the driver and sets cfg's GPUs. Without a driver or without GPUs it
// returns nil and sets the reason instead, so that the daemon can mark pods as not
// measured.
func (o nodeOptions) openGPUs(cfg *node.Config, log *slog.Logger) (*nvml.Library, error) {
	lib, err := nvml.OpenLibrary(o.library)
	if errors.Is(err, nvml.ErrNoLibrary) {
		cfg.NoGPUsReason = err.Error()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	devices, err := lib.ListDevices()
	if err != nil {
		log.Error("GPUs that cannot be reached are left out", "error", err)
	}
	if len(devices) == 0 {
		cfg.NoGPUsReason = cmp.Or(cfg.NoGPUsReason, "no GPU can be reached on this node")
		return nil, lib.Close()
	}
	keep := gpuaccounting.Config{IdleClocks: o.idleClocks == "lowest", Caps: nvml.CapsConfig{Ceiling: protocol.Milliwatts(o.ceiling * 1000), NotesFile: o.state}}
	if keep.Clock, err = o.clockByCap(); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	cfg.GPUs, err = gpuaccounting.New(devices, keep)
	if err != nil {
		log.Error("the power limits of some GPUs cannot be read", "error", err)
	}
	return lib, nil
}

// startGuard starts a guard process that restores power limits if this process is
// killed, or with --heartbeat only sends heartbeats to a guard in another container. end
// stops the guard.
func (o nodeOptions) startGuard(cfg *node.Config) (end func(), err error) {
	if o.heartbeat != "" {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w, err := nvml.StartGuard(func() *exec.Cmd {
		return exec.Command(self, "guard", "--state", o.state, "--library", o.library, "--period", o.period.String())
	})
	if err != nil {
		return nil, err
	}
	cfg.GuardHeartbeat = w.SendHeartbeat
	return func() {
		if err := w.StopGuard(); err != nil {
			cfg.Log.Error("the guard did not end cleanly", "error", err)
		}
	}, nil
}

// clockByCap returns a function that maps a power cap to the clock that keeps it, by
// the curves that the site measured; 0 if no curve is for that GPU model. It returns
// nil without curves.
func (o nodeOptions) clockByCap() (func(model string, cap protocol.Milliwatts) int, error) {
	if o.curves == "" {
		return nil, nil
	}
	var all []nvml.PowerCurve
	for _, file := range strings.Split(o.curves, ",") {
		c, err := readCurve(file)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return func(model string, cap protocol.Milliwatts) int {
		for _, c := range all {
			if mhz := c.ClockForCap(cap); c.Device == model && mhz > 0 {
				return mhz
			}
		}
		return 0
	}, nil
}

// Testplane is a Kubernetes control plane in one file: it is etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler or kwok, by the name it is called by, or by its first
// argument. One link and one text segment in memory serve all five.
//
// It is for tests and examples, and is no part of what a site installs.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

var programs = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kwok":                    runKwok,
}

func main() {
	run := programs[filepath.Base(os.Args[0])]
	if run == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run = programs[os.Args[0]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "usage: testplane etcd | kube-apiserver | kube-controller-manager | kube-scheduler | kwok [flags]")
		os.Exit(2)
	}
	os.Exit(run())
}

// runKwok hands kwok a flag set of its own: the one that Kubernetes' packages fill when they are
// linked has a version flag that is no boolean, and kwok's command would take it over.
func runKwok() int {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := kwokconfig.InitFlags(ctx, global)
	if err == nil {
		command := kwok.NewCommand(ctx)
		command.PersistentFlags().AddFlagSet(global)
		err = command.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	return 0
}

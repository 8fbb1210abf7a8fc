package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
)

// runGPUsCommand is `cluster-agent gpus`: it prints this machine's GPUs with their
// limits and sensors. GPUs that cannot be read are reported in the error, after those
// that can.
func runGPUsCommand(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent gpus", flag.ContinueOnError)
	fs.SetOutput(out)
	asJSON := fs.Bool("json", false, "print as JSON, power in milliwatts, energy in millijoules")
	library := fs.String("library", "", "`FILE` of the NVIDIA library (default: where the system has it)")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	lib, err := nvml.OpenLibrary(*library)
	if err != nil {
		return err
	}
	defer lib.Close()
	devices, lost := lib.ListDevices()
	rows, silent := readDevices(devices)
	lost = errors.Join(lost, silent)
	if *asJSON {
		return errors.Join(writeJSON(os.Stdout, rows), lost)
	}
	for _, r := range rows {
		x := r.Reading
		fmt.Printf("%d  %s  %s\n   %.1f W of %.0f W (%.0f to %.0f, default %.0f), %.0f kJ since the driver was loaded, %d °C\n   busy %.0f %%, memory %d of %d MiB, %d MHz\n",
			r.Index, r.Model, r.UUID, float64(x.Power)/1000, float64(x.Limit)/1000, float64(r.Limits.Least)/1000, float64(r.Limits.Most)/1000,
			float64(r.Limits.Default)/1000, float64(x.Energy)/1e6, x.Temperature, float64(x.Busy)/10, x.Used, x.Total, x.Clock)
		for _, s := range r.Slices {
			fmt.Printf("   MIG %s: %d of 7, %d MiB\n", s.UUID, s.Sevens, s.Memory)
		}
	}
	return lost
}

// A gpuView is one GPU as the command prints it.
type gpuView struct {
	Index   int                `json:"index"`
	UUID    string             `json:"uuid"`
	Model   string             `json:"model"`
	Limits  nvml.Limits        `json:"limits"`
	Reading nvml.Reading       `json:"reading"`
	Slices  []nvml.MIGInstance `json:"mig,omitempty"`
}

// readDevices reads the devices. A device that cannot be read goes into the error and
// does not hide the others.
func readDevices(devices []nvml.Device) ([]gpuView, error) {
	cards := []gpuView{}
	var errs []error
	for _, d := range devices {
		c := gpuView{Index: d.Index(), UUID: d.UUID(), Model: d.Model()}
		var read, sliced error
		if c.Reading, read = d.ReadSensors(); read == nil {
			c.Slices, sliced = d.MIGInstances()
		}
		if err := errors.Join(read, sliced); err != nil {
			errs = append(errs, err)
			continue
		}
		c.Limits, _ = d.PowerLimits() // zero where the device has none
		cards = append(cards, c)
	}
	return cards, errors.Join(errs...)
}

// runGuardCommand is `cluster-agent guard`, which restores power limits when the
// node's daemon dies. The daemon starts it as a child process, or it runs in a
// container of its own beside it.
func runGuardCommand(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent guard", flag.ContinueOnError)
	fs.SetOutput(out)
	file := fs.String("state", "", "`FILE` where lowered limits are noted")
	heartbeat := fs.String("heartbeat", "", "`FILE` that the agent touches (default: it writes to our standard input)")
	library := fs.String("library", "", "`FILE` of the NVIDIA library (default: where the system has it)")
	period := fs.Duration("period", 10*time.Second, "how long its agent may be silent")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	if *file == "" || *period <= 0 {
		return fmt.Errorf("want --state, and a period above 0")
	}
	if *heartbeat == "" {
		return nvml.RunGuard(os.Stdin, *period, *library, *file)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return nvml.RunHeartbeatGuard(ctx, *heartbeat, *period, *library, *file, func(err error) {
		fmt.Fprintf(out, "cluster-agent guard: %v; tried again\n", err)
	})
}

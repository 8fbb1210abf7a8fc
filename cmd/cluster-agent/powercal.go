package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/protocol"
)

const powercalHelp = `cluster-agent powercal measures what a command takes on one GPU under several power
limits or clocks, by the GPU's own energy counter, and writes the curve as JSON. The command
should do the same work each time, for at least some seconds, and the GPU nothing
else. It is run with CUDA_VISIBLE_DEVICES set to the GPU. Limits are restored in
the end, also after ctrl-C or when the terminal goes; after a kill -9, run it again with
the same --state: cluster-agent node takes what it finds set for what you want.

  cluster-agent powercal --gpu 0 --watts 500,400,300 --out curve.json -- python train.py --steps 200`

// runPowercalCommand is `cluster-agent powercal`: it measures a command's energy and
// time under several power limits or clocks, and writes the curve.
func runPowercalCommand(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("cluster-agent powercal", flag.ContinueOnError)
	fs.SetOutput(out)
	gpu := fs.Int("gpu", 0, "index of the GPU")
	list := fs.String("watts", "", "power limits to try besides the default one, in `W,W,...` (default: four steps down to the lowest)")
	held := fs.String("clocks", "", "clocks to hold instead of power limits, in `MHZ,MHZ,...`; decoding draws little and never reaches a limit")
	runs := fs.Int("runs", 3, "runs under each limit; the median counts")
	file := fs.String("out", "curve.json", "`FILE` to write")
	state := fs.String("state", "gridbid-limits.json", "`FILE` where lowered limits are noted until they are back")
	library := fs.String("library", "", "`FILE` of the NVIDIA library (default: where the system has it)")
	fs.Usage = func() {
		fmt.Fprintln(out, powercalHelp)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() == 0 || *runs < 1 || *runs > 100 {
		return errors.New("want a command after --, and 1 to 100 runs; see cluster-agent powercal --help")
	}
	if err := checkWritable(*file); err != nil { // before the measurement, which takes minutes of a GPU
		return fmt.Errorf("--out: %w", err)
	}
	lib, err := nvml.OpenLibrary(*library)
	if err != nil {
		return err
	}
	defer lib.Close()
	devices, err := lib.ListDevices()
	// GPUs that cannot be reached are missing from the list, so positions are not indexes.
	i := slices.IndexFunc(devices, func(d nvml.Device) bool { return d.Index() == *gpu })
	if i < 0 {
		return errors.Join(fmt.Errorf("GPU %d does not exist: %d GPUs are accessible", *gpu, len(devices)), err)
	}
	d := devices[i]
	clocks, err := parseClocks(*held)
	if err != nil {
		return err
	}
	var limits []protocol.Milliwatts
	if len(clocks) == 0 {
		limits, err = parseWatts(*list, d)
	} else if *list != "" {
		err = errors.New("--watts and --clocks exclude each other, as a curve has limits or clocks: keep one")
	}
	if err != nil {
		return err
	}
	caps, err := nvml.NewPowerCaps([]nvml.Device{d}, nvml.CapsConfig{NotesFile: *state, AllowRaise: true})
	if err != nil {
		return err
	}
	daemon.IgnoreBrokenPipe() // limits are restored even if the reader of our output is gone
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	curve, err := nvml.MeasurePowerCurve(ctx, d, caps, lib.DriverVersion(), nvml.Calibration{
		Limits: limits, Clocks: clocks, Runs: *runs, Command: fs.Args(), Clock: time.Now,
		Log: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) },
		Run: func(ctx context.Context) error {
			cmd := exec.CommandContext(ctx, fs.Arg(0), fs.Args()[1:]...)
			cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES="+d.UUID())
			cmd.Stdout, cmd.Stderr = out, out
			return cmd.Run()
		},
	})
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(curve, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(*file, append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d points on %s\n", *file, len(curve.Points), curve.Device)
	return nil
}

// checkWritable returns why a file cannot be written. It removes a file that it had to
// create.
func checkWritable(file string) error {
	_, err := os.Lstat(file)
	made := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = f.Close()
	if made {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// parseWatts parses power limits in watts. Without any it returns four even steps from
// the device's lowest limit up towards its default one, which is measured in any case.
func parseWatts(list string, d nvml.Device) (out []protocol.Milliwatts, err error) {
	if list == "" {
		l, err := d.PowerLimits()
		if err != nil {
			return nil, err
		}
		for i := range 4 {
			out = append(out, l.Least+(l.Default-l.Least)*protocol.Milliwatts(i)/4)
		}
		return out, nil
	}
	for _, text := range strings.Split(list, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(v > 0 && v < 10_000) {
			return nil, fmt.Errorf("--watts: %q is not a power limit: want watts such as 500,400,300", text)
		}
		out = append(out, protocol.Milliwatts(v*1000+0.5))
	}
	return out, nil
}

// parseClocks parses clocks in MHz.
func parseClocks(list string) (out []int, err error) {
	if list == "" {
		return nil, nil
	}
	for _, text := range strings.Split(list, ",") {
		v, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || v < 1 || v > 10_000 {
			return nil, fmt.Errorf("--clocks: %q is not a clock: want MHz such as 1500,1200,900", text)
		}
		out = append(out, v)
	}
	return out, nil
}

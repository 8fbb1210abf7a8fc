package seat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/scenarios/spec"

	"github.com/gridbid/gridbid/scenarios/learned"
)

// smallJobs is how many jobs of six-regions the small day has.
const smallJobs = 300

// BenchmarkSteps plays small days at the seat of the clearing without lines, always by the option that
// costs least. It is the floor of BenchmarkLines.
func BenchmarkSteps(b *testing.B) {
	seed, steps := uint64(7), 0
	from := processorTime(b)
	for b.Loop() {
		s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{Seed: &seed, MaxJobs: smallJobs})
		if err != nil {
			b.Fatal(err)
		}
		e := startEpisode(b.Context(), s, false, true)
		for q, err := e.next(); q != nil || err != nil; q, err = e.decide(q.Best) {
			if err != nil {
				b.Fatal(err)
			}
			steps++
		}
		seed++
	}
	reportSteps(b, steps, from)
}

// BenchmarkLines plays small days in one and in several environments of one process, over pipes, always
// by the option that costs least. Each environment plays days of its own seeds. A learner that replans is
// asked more often on the same day.
func BenchmarkLines(b *testing.B) {
	for _, replan := range []bool{false, true} {
		for _, envs := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("replan-%v/envs-%d", replan, envs), func(b *testing.B) {
				c := startServer(b, envs, replan)
				from, steps := processorTime(b), 0
				for b.Loop() {
					steps += c.playDays(b, envs)
				}
				reportSteps(b, steps, from)
				b.ReportMetric(float64(b.N*envs)/b.Elapsed().Seconds(), "days/s")
			})
		}
	}
}

// reportSteps reports steps by the clock and by processor time, which other processes on the machine
// do not disturb.
func reportSteps(b *testing.B, steps int, from time.Duration) {
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(steps)/(processorTime(b)-from).Seconds(), "steps/cpu-s")
	b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A pipeClient is a learner on the other end of two pipes.
type pipeClient struct {
	in   *bufio.Reader
	out  *os.File
	seed int
}

// startServer serves environments over pipes until the benchmark ends.
func startServer(b *testing.B, envs int, replan bool) *pipeClient {
	theirIn, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	was := debug.SetGCPercent(CollectAt) // as the command does
	b.Cleanup(func() { debug.SetGCPercent(was) })
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), theirIn, theirOut, Config{Envs: envs}) }()
	c := &pipeClient{in: bufio.NewReaderSize(in, 1<<16), out: out}
	b.Cleanup(func() {
		out.Close()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	for k := range envs {
		fmt.Fprintf(c.out, `{"env":%d,"open":1,"seat":"rule","replan":%v}`+"\n", k, replan)
	}
	for range envs {
		c.readLine(b)
	}
	return c
}

// readLine reads a line and the environment that it begins with.
func (c *pipeClient) readLine(b *testing.B) (env int, line []byte) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		b.Fatal(err)
	}
	if text, ok := bytes.CutPrefix(line, []byte(`{"env":`)); ok { // one environment is not named
		env = int(text[0] - '0')
	}
	return env, line
}

// playDays plays one day in each environment, and returns how many steps they took.
func (c *pipeClient) playDays(b *testing.B, envs int) (steps int) {
	for k := range envs {
		c.seed++
		fmt.Fprintf(c.out, `{"env":%d,"reset":{"seed":%d,"jobs":%d}}`+"\n", k, c.seed, smallJobs)
	}
	var mask [learned.MostOptions + 1]byte
	for left := envs; left > 0; {
		env, line := c.readLine(b)
		if bytes.Contains(line, []byte(`"terminated":true`)) {
			left--
			continue
		}
		_, text, ok := bytes.Cut(line, []byte(`"mask":{"u8":"`))
		text, _, _ = bytes.Cut(text, []byte(`"`))
		if _, err := base64.StdEncoding.Decode(mask[:], text); !ok || err != nil {
			b.Fatalf("%.200s: %v", line, err)
		}
		fmt.Fprintf(c.out, `{"env":%d,"act":%d}`+"\n", env, bytes.IndexByte(mask[:], 1))
		steps++
	}
	return steps
}

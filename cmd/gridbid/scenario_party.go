package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A partySetup is the first line that a process of a case reads: what it runs, and as whom it joins. It comes by
// a pipe, since it has passwords.
type partySetup struct {
	File, Data, Policy string
	URL                string // of the NATS server
	Logins             map[protocol.Party]natsbus.Login
}

// A partyClock is each further line: by which clock the parties begin, or go on. The process answers with a
// scenarios.Standstill when they stand where it stops.
type partyClock struct {
	Start, Until protocol.Time
	Began        time.Time
	Speed        float64
}

// newScenarioPartyCommand is `gridbid scenario party`, which `gridbid scenario test --live=processes` runs: some
// parties of a case, until the pipe by which it is told so is closed.
func newScenarioPartyCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "party",
		Short:  "run some parties of a case, for gridbid scenario test --live=processes",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPartyProcess(cmd.Context(), bufio.NewReader(cmd.InOrStdin()), cmd.OutOrStdout())
		},
	}
}

// runPartyProcess reads what to run, says that it is connected, and runs.
func runPartyProcess(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	var setup partySetup
	if err := readLine(in, &setup); err != nil {
		return fmt.Errorf("gridbid scenario party: read what to run: %w", err)
	}
	s, err := spec.LoadScenario(setup.File, spec.Options{Data: setup.Data})
	if err != nil {
		return err
	}
	var parties []protocol.Party
	for who := range setup.Logins {
		parties = append(parties, who)
	}
	hub := natsbus.DialAs(setup.URL, setup.Logins)
	return scenarios.RunParties(ctx, s, setup.Policy, parties, hub, func() (<-chan bus.Clock, error) {
		if _, err := fmt.Fprintln(out, "connected"); err != nil {
			return nil, err
		}
		clocks := make(chan bus.Clock)
		go func() {
			defer close(clocks) // whoever judges the case has ended when the pipe has
			var c partyClock
			for readLine(in, &c) == nil {
				clocks <- bus.Clock{Start: c.Start, Began: c.Began, Speed: c.Speed, Until: c.Until}
			}
		}()
		return clocks, nil
	}, func(s scenarios.Standstill) error { return json.NewEncoder(out).Encode(s) })
}

// readLine reads a line of JSON.
func readLine(in *bufio.Reader, into any) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

// A partyProcess is a process of this program that runs some parties of a case.
type partyProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	wait   func() error
}

// startPartyProcess starts a process, and returns it when its parties are connected to the server.
func startPartyProcess(ctx context.Context, server *natsbus.Server, setup partySetup, parties []protocol.Party) (*partyProcess, error) {
	setup.URL, setup.Logins = server.ClientURL(), make(map[protocol.Party]natsbus.Login)
	for _, who := range parties {
		name, password, err := server.UserCredentials(who)
		if err != nil {
			return nil, err
		}
		setup.Logins[who] = natsbus.Login{Name: name, Password: password}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &partyProcess{cmd: exec.CommandContext(ctx, program, "scenario", "party")}
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.wait, p.out = sync.OnceValue(p.cmd.Wait), bufio.NewReader(out)
	if err = p.say(setup); err == nil {
		_, err = p.out.ReadString('\n')
	}
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("the process of %s did not begin: %w", parties[0], errors.Join(err, p.whatItSaid()))
	}
	return p, nil
}

// say writes a line of JSON to the process.
func (p *partyProcess) say(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	return err
}

// whatItSaid returns what the process wrote to stderr as an error; nil if it wrote nothing. The process has ended.
func (p *partyProcess) whatItSaid() error {
	if text := strings.TrimSpace(p.stderr.String()); text != "" {
		return errors.New(text)
	}
	return nil
}

// SetClock implements scenarios.PartyProcess.
func (p *partyProcess) SetClock(clock bus.Clock) error {
	return p.say(partyClock{clock.Start, clock.Until, clock.Began, clock.Speed})
}

// AwaitStop implements scenarios.PartyProcess.
func (p *partyProcess) AwaitStop() (s scenarios.Standstill, err error) {
	return s, readLine(p.out, &s)
}

// Wait implements scenarios.PartyProcess.
func (p *partyProcess) Wait() error {
	err := p.wait()
	return errors.Join(err, p.whatItSaid())
}

// Stop implements scenarios.PartyProcess.
func (p *partyProcess) Stop() {
	_ = p.in.Close()
	_ = p.wait() // its error was asked for before, or does not matter any more
}

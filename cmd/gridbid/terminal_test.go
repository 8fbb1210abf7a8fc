package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// inChat names, in the environment, the run that a test of its own process chats
// about.
const inChat = "GRIDBID_TEST_CHAT"

// Questions may be pasted all at once: nothing that chat does to the terminal may
// swallow one of them.
func TestPastedQuestionsAreAllAnswered(t *testing.T) {
	if run := os.Getenv(inChat); run != "" {
		chat := newChatCommand()
		chat.SetArgs([]string{"--run", run})
		if err := chat.Execute(); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	}
	terminal, err := exec.LookPath("script")
	if err != nil {
		t.Skip("no program that gives us a terminal")
	}
	run := t.TempDir()
	if _, stderr, err := execute(newReplayCommand(), "--policy", "auction", "--bus", "mem", "--no-bound", "--max-jobs", "20", "--run", run); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	cmd := exec.CommandContext(t.Context(), terminal, "-qfec", os.Args[0]+" -test.run '^"+t.Name()+"$'", os.DevNull)
	cmd.Env = append(os.Environ(), inChat+"="+run, "TERM=xterm")
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var all []byte
	pasted := false
	for buf := make([]byte, 4096); ; {
		n, err := shown.Read(buf)
		all = append(all, buf[:n]...)
		if !pasted && bytes.Contains(all, []byte("\n? ")) {
			pasted = true
			fmt.Fprint(keys, "carbon by site\nenergy by site\n/quit\n")
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	for _, want := range []string{"carbon used by site", "energy used by site"} {
		if !bytes.Contains(all, []byte(want)) {
			t.Errorf("it is not answered with %q:\n%q", want, all)
		}
	}
}

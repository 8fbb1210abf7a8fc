package seat

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A program is a process that speaks lines. What it writes is read only while somebody waits for it,
// so a program that writes without end is held up by its own pipe; what it is written is written in a
// goroutine, so a program that reads nothing holds up nobody.
type program struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	heard   chan heardLine // closed after the last line
	outbox  chan []byte
	written chan error // one for each line of outbox
	gone    chan struct{}
	errors  tail
}

// A heardLine is a line of a program, parsed.
type heardLine struct {
	request
	number int
	wrong  *lineError
}

// keptVariables are the variables of our environment that a program is given: what it needs to find
// its files and to speak a language. Everything else, and so every key, stays with us.
var keptVariables = []string{"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}

// outsideVariable tells a program that it is judged: it speaks on its own standard input and output,
// where one that trains would start gridbid.
const outsideVariable = "GRIDBID_SEAT"

// programEnvironment returns the environment of a program.
func programEnvironment() []string {
	env := []string{outsideVariable + "=judged"}
	for _, name := range keptVariables {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// startProgram starts a command line of the shell.
func startProgram(command string) (*program, error) {
	p := &program{
		cmd:   exec.Command("/bin/sh", "-c", command),
		heard: make(chan heardLine), outbox: make(chan []byte, 1), written: make(chan error, 1), gone: make(chan struct{}),
	}
	p.cmd.Env = programEnvironment()
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it starts ends with it
	p.cmd.Stderr = &p.errors
	p.cmd.WaitDelay = endGrace
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.readLines(stdout)
	go p.writeLines()
	return p, nil
}

// readLines parses lines, each when somebody waits for it.
func (p *program) readLines(from io.Reader) {
	defer close(p.heard)
	lines := newLineReader(from)
	for {
		line, wrong, err := lines.next()
		if err != nil {
			return
		}
		h := heardLine{wrong: wrong}
		if wrong == nil {
			h.request, h.wrong = parseRequest(line)
		}
		h.number = lines.number
		select {
		case p.heard <- h:
		case <-p.gone:
			return
		}
	}
}

// writeLines writes lines, and says of each how it went.
func (p *program) writeLines() {
	for {
		select {
		case line := <-p.outbox:
			_, err := p.stdin.Write(line)
			p.written <- err // its buffer is empty: no line is written before the last was accounted for
		case <-p.gone:
			return
		}
	}
}

// endGrace is how long a program may take to end once its lines have ended.
const endGrace = 2 * time.Second

// end closes a program's lines, waits a little for it to end by itself, and kills it and all that it
// started. It returns how it ended.
func (p *program) end(ctx context.Context) error {
	_ = p.stdin.Close() // it may have closed its end before
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	// Wait returns only when the pipes are read out or WaitDelay has passed.
	go func() {
		for range p.heard {
		}
	}()
	var err error
	select {
	case err = <-ended:
		p.kill()
	case <-time.After(endGrace):
		p.kill()
		err = <-ended
	case <-ctx.Done():
		p.kill()
		err = <-ended
	}
	close(p.gone)
	return err
}

// kill kills a program's whole process group.
func (p *program) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // that there is nothing left to kill is no error
}

// A tail keeps the end of what a program wrote to its standard error.
type tail struct{ text []byte }

// keptErrors is how many bytes of a program's standard error are kept.
const keptErrors = 2048

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - keptErrors; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// lastLine returns the last line that was written. It is called when nothing is written any more.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?")), "\n")
	return shortText(lines[len(lines)-1])
}

// errGone says that a program ended, or closed its lines.
var errGone = errors.New("it ended")

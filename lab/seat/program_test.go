package seat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/scenarios/learned"
)

// TestMain is the tests, and the programs that they start as learners: "program KIND" are the arguments
// of one.
func TestMain(m *testing.M) {
	if len(os.Args) >= 3 && os.Args[1] == "program" {
		runProgram(os.Args[2], os.Args[3:])
		return
	}
	os.Exit(m.Run())
}

// programCommand returns the command line of a program of a kind.
func programCommand(t *testing.T, kind string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return "exec '" + self + "' program " + kind + " " + strings.Join(args, " ")
}

// goodUntil is after how many decisions a program that misbehaves begins to.
const goodUntil = 5

// runProgram is a learner that takes what costs least, and from some decision on misbehaves in its way.
func runProgram(kind string, args []string) {
	in, steps := bufio.NewReaderSize(os.Stdin, 1<<20), 0
	say := func(text string) { fmt.Println(text) }
	read := func() (l line) {
		text, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return l
	}
	switch kind {
	case "boxes":
		runBoxes(args[0], args[1], say, func() (l boxLine) {
			text, err := in.ReadString('\n')
			if err == nil {
				err = json.Unmarshal([]byte(text), &l)
			}
			if err != nil {
				os.Exit(1)
			}
			return l
		})
		return
	case "dead":
		fmt.Fprintln(os.Stderr, "no such weights")
		os.Exit(3)
	case "mute":
		time.Sleep(time.Hour)
	case "environment":
		_ = os.WriteFile(args[0], []byte(strings.Join(os.Environ(), "\n")), 0o600) // the test misses the file otherwise
	case "parent":
		child := exec.Command("sleep", "1000")
		if child.Start() == nil {
			_ = os.WriteFile(args[0], fmt.Appendf(nil, "%d", child.Process.Pid), 0o600)
		}
	}
	say(fmt.Sprintf(`{"open":1,"seat":"rule","replan":%v}`, slices.Contains(args, "replan")))
	read()
	say(`{"reset":{"scenario":"of my own choice","seed":1}}`)
	for l := read(); ; steps++ {
		if l.Terminated != nil && *l.Terminated {
			if kind == "last" {
				_ = os.WriteFile(args[0], fmt.Appendf(nil, "%v %d", l.Info.Totals.ObjectiveUSD, steps), 0o600)
			}
			return
		}
		if l.Error == nil && steps >= goodUntil {
			misbehave(kind, in)
		}
		if l.Error == nil && (kind == "last" || kind == "late" && steps >= goodUntil) && l.Info.Late {
			_ = os.WriteFile(args[0], []byte("told that it was late"), 0o600)
		}
		action := cheapest(l)
		if kind == "late" && steps >= goodUntil {
			action = learned.Hold // that would change the day
		}
		say(fmt.Sprintf(`{"act":%d}`, action))
		l = read()
	}
}

// misbehave is what a program does instead of answering; some ways return, and it answers then.
func misbehave(kind string, in io.Reader) {
	switch kind {
	case "crash":
		os.Exit(7)
	case "hang":
		time.Sleep(time.Hour)
	case "late":
		time.Sleep(300 * time.Millisecond)
	case "deaf": // it floods and reads nothing
		for {
			fmt.Println(`{"act":3}`)
		}
	case "garbage":
		for {
			fmt.Println(`{"act":"3","of":[[[[`)
		}
	case "endless": // a line without an end
		for {
			fmt.Print(strings.Repeat("9", 1<<16))
		}
	case "closed":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "blind":
		os.Stdin.Close()
		time.Sleep(time.Hour)
	case "noise":
		for range 100 {
			fmt.Fprintln(os.Stderr, strings.Repeat("warning ", 1000))
		}
	case "wrong":
		fmt.Println(`{"act":900}`)
		fmt.Println(`{"reset":{"seed":1}}`)
		fmt.Println(`{"open":1,"seat":"rule"}`)
		for range 3 {
			if _, err := bufioReader(in).ReadString('\n'); err != nil {
				os.Exit(1)
			}
		}
	case "leaves":
		fmt.Println(`{"close":1}`)
		time.Sleep(time.Hour)
	}
}

// bufioReader is the reader that a program reads its lines from.
func bufioReader(in io.Reader) *bufio.Reader { return in.(*bufio.Reader) }

// itoa returns a number in digits.
func itoa(n int) string { return fmt.Sprint(n) }

// atoi reads a number of a program.
func atoi(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q is no number: %v", text, err)
	}
	return n
}

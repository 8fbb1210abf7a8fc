// Command ledgerdiff compares two ledgers as printed by `gridbid messages`, message by
// message. It is how a change that adds a key proves that it changes no decision: what
// both binaries print is equal when the new key is left out. It compares what is
// printed and not the files, so that the ledgers may be of different protocol versions.
//
//	go run ./lab/ledgerdiff -ignore version,call.planning old.jsonl new.jsonl
//
// A key is one of every message's envelope (version), or of the body of a kind of
// message (call.planning). It exits with 0 if the ledgers are equal, 1 if they differ
// and 2 if it could not compare them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	exitEqual  = 0
	exitDiffer = 1
	exitFailed = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("ledgerdiff", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		fmt.Fprintln(problems, "usage: ledgerdiff [-ignore KEY,KIND.KEY,...] A.jsonl B.jsonl")
		flags.PrintDefaults()
	}
	ignore := flags.String("ignore", "", "keys to leave out: KEY of the envelope or KIND.KEY of a body, with commas between")
	if err := flags.Parse(args); err != nil {
		return exitFailed
	}
	if flags.NArg() != 2 {
		flags.Usage()
		return exitFailed
	}
	keys, err := parseKeys(*ignore)
	if err != nil {
		fmt.Fprintf(problems, "ledgerdiff: -ignore: %v\n", err)
		return exitFailed
	}
	found, err := comparePrinted(flags.Arg(0), flags.Arg(1), keys)
	if err != nil {
		fmt.Fprintf(problems, "ledgerdiff: %v\n", err)
		return exitFailed
	}
	without := ""
	if len(keys) > 0 {
		without = " without " + strings.ReplaceAll(*ignore, ",", " and ")
	}
	fmt.Fprint(out, found.describeResult(without))
	if !found.isEqual() {
		return exitDiffer
	}
	return exitEqual
}

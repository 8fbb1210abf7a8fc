// Command ledgerdiff compares two ledgers message by message, and apart from that
// award by award. It is how a change that adds a field proves that it changes no
// decision: the ledgers of both binaries are equal when the new key is left out.
//
//	go run ./lab/ledgerdiff -ignore Call.pl,Call.mb old.ledger new.ledger
//
// A key is named by the kind of its message and its name on the wire, as the tags of
// package protocol have it. Keys that this build does not know are not compared, so
// build it from the newer of the two programs.
//
// It exits with 0 if the ledgers are equal, 1 if they differ and 2 if it could not
// compare them.
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
		fmt.Fprintln(problems, "usage: ledgerdiff [-ignore Kind.key,...] A.ledger B.ledger")
		flags.PrintDefaults()
	}
	ignore := flags.String("ignore", "", "keys to leave out, as Kind.key with commas between: Call.pl,Call.mb")
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
	found, err := compareLedgers(flags.Arg(0), flags.Arg(1), keys)
	if err != nil {
		fmt.Fprintf(problems, "ledgerdiff: %v\n", err)
		return exitFailed
	}
	without := ""
	if *ignore != "" {
		without = " without " + strings.Join(strings.Split(*ignore, ","), " and ")
	}
	fmt.Fprint(out, found.describe(without))
	if !found.equal() {
		return exitDiffer
	}
	return exitEqual
}

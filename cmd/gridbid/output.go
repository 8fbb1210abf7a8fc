package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
)

// outputFlags are -o, and --json, which is another name of `-o json`.
type outputFlags struct{ format printer.Format }

// forPrograms reports whether a program reads what is printed: then it is all in one format,
// and nothing else is printed beside it.
func (f *outputFlags) forPrograms() bool {
	return f.format != printer.Table && f.format != printer.Wide && f.format != ""
}

// registerOutput adds the flags. Their default is the table, or what the context of the
// configuration file says.
func (f *outputFlags) registerOutput(cmd *cobra.Command) {
	f.registerFormat(cmd)
	cmd.Flags().BoolFunc("json", "print JSON, as -o json does", func(text string) error {
		if text == "true" {
			return cmd.Flags().Set("output", string(printer.JSON))
		}
		return nil
	})
	_ = cmd.Flags().MarkHidden("json") // one way is shown, and scripts that use the other go on
}

// registerFormat adds -o alone.
func (f *outputFlags) registerFormat(cmd *cobra.Command) {
	f.format = printer.Table
	cmd.Flags().VarP(formatFlag{f}, "output", "o", "`FORMAT`: "+format.JoinWithOr(printer.Formats())+"; also $GRIDBID_OUTPUT")
	_ = cmd.Flags().SetAnnotation("output", fromContext, []string{})
}

// A formatFlag is the value of -o.
type formatFlag struct{ flags *outputFlags }

func (v formatFlag) String() string {
	if v.flags == nil { // as package pflag asks for the zero value
		return ""
	}
	return string(v.flags.format)
}

func (v formatFlag) Type() string { return "FORMAT" }

func (v formatFlag) Set(text string) (err error) {
	v.flags.format, err = printer.ParseFormat(text)
	return err
}

// printView prints what a command shows to its standard output.
func (f *outputFlags) printView(cmd *cobra.Command, v printer.View) error {
	err := v.Print(cmd.OutOrStdout(), f.format)
	switch {
	case err == nil:
		printNoteAfter(cmd, v)
		return nil
	case !errors.Is(err, printer.ErrNotAList):
		return err
	case cmd.Flags().Changed("output"):
		return usageError{fmt.Errorf("-o %s: %w", f.format, err)}
	}
	return v.Print(cmd.OutOrStdout(), printer.Table) // a default for lists, from a context
}

// A noteAfter is a view with a note about it.
type noteAfter struct {
	printer.View
	note string
}

// printNoteAfter prints the note of a view, if it has one, once the view is printed.
func printNoteAfter(cmd *cobra.Command, v printer.View) {
	if n, ok := v.(noteAfter); ok {
		fmt.Fprintln(notesOf(cmd), n.note)
	}
}

// objectListing returns rows as a listing with a column for each key of their JSON, of which the one
// called name comes first. People read text, and JSON and YAML print data.
func objectListing[T any](rows []T, name string, data any, text func(io.Writer)) (printer.View, error) {
	l, err := printer.ListObjects(rows, name)
	l.Data, l.Text = data, text
	return l, err
}

// printObjects prints such a listing.
func printObjects[T any](cmd *cobra.Command, o *outputFlags, rows []T, name string, data any, text func(io.Writer)) error {
	v, err := objectListing(rows, name, data, text)
	if err != nil {
		return err
	}
	return o.printView(cmd, v)
}

// printValue prints one value: by text for people, and in full for programs.
func (f *outputFlags) printValue(cmd *cobra.Command, value any, text func(io.Writer)) error {
	return f.printView(cmd, printer.Listing[any]{Data: value, Text: text})
}

// listFlags select and order the rows of a listing.
type listFlags struct {
	printer.Selection
	noun string // of the rows, in the plural
}

// registerList adds the flags of a listing of things of some name, with the rows that it
// prints without --limit.
func (f *listFlags) registerList(cmd *cobra.Command, noun string, limit int) {
	f.noun = noun
	fl := cmd.Flags()
	fl.StringVarP(&f.Selector, "selector", "l", "", "only rows for which `COLUMN=VALUE` holds; also != < > <= >=, and several joined by commas")
	fl.StringVar(&f.Sort, "sort", "", "order by a `COLUMN`, as CSV names it; -COLUMN for the greatest first")
	fl.IntVar(&f.Limit, "limit", limit, "number of "+noun+" at most; 0 is all")
}

// selectRows applies the flags to a listing. What the limit leaves out is counted on
// standard error, so that nobody takes a part for the whole.
func selectRows[T any](f *listFlags, l printer.Listing[T]) (printer.View, error) {
	out, more, err := l.Apply(f.Selection)
	if err != nil {
		return nil, usageError{err}
	}
	if more == 0 {
		return out, nil
	}
	return noteAfter{out, fmt.Sprintf("%d more %s; --limit 0 shows all", more, f.noun)}, nil
}

// notesOf returns where a command writes notes and progress: nowhere with --quiet. What a
// user must know to go on, such as a warning, goes to standard error itself.
func notesOf(cmd *cobra.Command) io.Writer {
	if quiet := cmd.Flags().Lookup("quiet"); quiet != nil && quiet.Value.String() == "true" {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}

package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A scenarioRow is a shipped scenario in `gridbid scenario list`.
type scenarioRow struct {
	Name  string        `json:"name"`
	Day   protocol.Time `json:"day"` // on which its jobs arrive
	About string        `json:"about"`
	Needs []string      `json:"needs,omitempty"`   // files of recorded data
	Lacks []string      `json:"missing,omitempty"` // those of them that are not there
}

// newScenarioListCommand is `gridbid scenario list`.
func newScenarioListCommand() *cobra.Command {
	var f outputFlags
	var list listFlags
	var data string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the scenarios that ship with gridbid, and whether their data is here",
		Long: `List the scenarios that ship with gridbid: the day, what makes it worth a replay, and
whether the recorded data that it needs is in the folder of --data. docs/scenarios.md
says whose data it is, and where to get it. A scenario without data is made up.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []scenarioRow
			for _, name := range spec.ShippedNames() {
				s, err := spec.Summarize(name, data)
				if err != nil {
					return err
				}
				row := scenarioRow{Name: name, Day: s.Day, About: s.About, Needs: s.Files}
				for _, file := range s.Files {
					if _, err := os.Stat(file); err != nil {
						row.Lacks = append(row.Lacks, file)
					}
				}
				rows = append(rows, row)
			}
			view, err := selectRows(&list, scenarioListing(rows))
			if err != nil {
				return err
			}
			return f.printView(cmd, view)
		},
	}
	f.registerOutput(cmd)
	list.registerList(cmd, "scenarios", 0)
	cmd.Flags().StringVar(&data, "data", dataFolder(), "`FOLDER` of recorded series and traces; also $GRIDBID_DATA")
	return cmd
}

// scenarioListing returns scenarios as a listing.
func scenarioListing(rows []scenarioRow) printer.Listing[scenarioRow] {
	return printer.Listing[scenarioRow]{Rows: rows, Columns: []printer.Column[scenarioRow]{
		{Head: "SCENARIO", Value: func(s scenarioRow) any { return s.Name }},
		{Head: "DAY", Value: func(s scenarioRow) any { return s.Day.StdTime().Format("2006-01-02") }},
		{Head: "DATA", Value: func(s scenarioRow) any { return s.dataState() }},
		{Head: "ABOUT", Value: func(s scenarioRow) any { return s.About }},
		{Head: "FIRST MISSING FILE", Wide: true, Value: func(s scenarioRow) any {
			if len(s.Lacks) == 0 {
				return nil
			}
			return s.Lacks[0]
		}},
	}}
}

// dataState says in a word whether a scenario can be replayed here.
func (s scenarioRow) dataState() string {
	switch {
	case len(s.Needs) == 0:
		return "not needed"
	case len(s.Lacks) > 0:
		return "missing"
	}
	return "here"
}

package seat

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/learned"
)

// The page for learners lists every number of an observation, in the order in which it comes.
func TestThePageListsWhatTheSeatSees(t *testing.T) {
	text, err := os.ReadFile("../../docs/learners.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "\n`job`, 19 numbers:\n")
	job, options, _ := strings.Cut(text2, "\n`options`, 64 rows of 32 numbers")
	options, _, _ = strings.Cut(options, "\n`mask`, 65 zeros and ones")
	_, room, _ := strings.Cut(string(text), "\n**`room`.**")
	room, site, _ := strings.Cut(room, "\n**`site`.**")
	site, _, _ = strings.Cut(site, "\n## ")
	var sites []string // a horizon's number is said once for all of them
	for _, name := range learned.SiteFeatures {
		if what, _, ahead := strings.Cut(name, "_"); ahead && strings.HasSuffix(name, "_0") {
			name = what + "_"
		} else if ahead && strings.ContainsAny(name[len(name)-1:], "0123456789") {
			continue
		}
		sites = append(sites, name)
	}
	for _, part := range []struct {
		name, text string
		want       []string
	}{{"job", job, learned.JobFeatures}, {"options", options, learned.OptionFeatures}, {"room", room, learned.RoomFeatures}, {"site", site, sites}} {
		var got []string
		for _, row := range regexp.MustCompile("(?m)^\\| ((?:`\\w+`(?:, )?)+) \\|").FindAllStringSubmatch(part.text, -1) {
			for _, name := range strings.Split(row[1], ", ") {
				got = append(got, strings.Trim(name, "`"))
			}
		}
		if !slices.Equal(got, part.want) {
			t.Errorf("docs/learners.md lists of %s\n%v\nan observation has\n%v", part.name, got, part.want)
		}
	}
}

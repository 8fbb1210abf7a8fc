package spec

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestASummaryIsReadWithoutTheData(t *testing.T) {
	for _, what := range ShippedNames() {
		s, err := Summarize(what, "elsewhere")
		if err != nil || s.About == "" || s.Day == 0 {
			t.Errorf("%s: %v: %+v; want a sentence and a day", what, err, s)
		}
		if what == DefaultScenario {
			if len(s.Files) != 0 {
				t.Errorf("%s needs %q; want no data", what, s.Files)
			}
			continue
		}
		if len(s.Files) != 3 || !strings.HasPrefix(s.Files[0], filepath.Join("elsewhere", "scenarios")) {
			t.Errorf("%s needs %q; want a window, a trace and nodes", what, s.Files)
		}
		if day := strings.TrimPrefix(s.Day.String(), "20")[:8]; !strings.Contains(what, day) {
			t.Errorf("%s is on %s", what, s.Day)
		}
	}
	if _, err := Summarize("six-region", ""); err == nil || !strings.Contains(err.Error(), `did you mean "six-regions"?`) {
		t.Errorf("a name that is nearly right: %v", err)
	}
}

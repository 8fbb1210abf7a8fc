package tables_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The notebook asks each query that lies beside it, and holds nobody's results. What the queries
// answer is compared with a replay by `make notebook`.
func TestTheNotebookAsksEveryQueryAndHoldsNoResults(t *testing.T) {
	const dir = "../../docs/notebook"
	text, err := os.ReadFile(filepath.Join(dir, "five-questions.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct {
		Cells []struct {
			Kind    string   `json:"cell_type"`
			Source  []string `json:"source"`
			Outputs []any    `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	code := ""
	for _, c := range notebook.Cells {
		if len(c.Outputs) > 0 {
			t.Errorf("a cell has an output: clear it: %q", c.Source)
		}
		if c.Kind == "code" {
			code += strings.Join(c.Source, "")
		}
	}
	queries, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil || len(queries) != 5 {
		t.Errorf("%d queries, %v; want five", len(queries), err)
	}
	for _, q := range queries {
		if !strings.Contains(code, `ask("`+filepath.Base(q)+`")`) {
			t.Errorf("the notebook does not ask %s", filepath.Base(q))
		}
	}
}

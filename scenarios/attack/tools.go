package attack

import (
	"context"

	"github.com/gridbid/gridbid/coordinator/follow"
	"github.com/gridbid/gridbid/coordinator/mcp"
)

// tools asks a run through the Model Context Protocol, and looks at what it gets.
func tools(ctx context.Context, run *follow.Run, complain func(string, ...any), look func(where, text string), questions, ids []string) {
	calls := []mcp.Call{{Tool: "list_decisions", Args: map[string]any{"limit": 200}}, {Tool: "queue", Args: map[string]any{}}}
	for _, q := range questions {
		calls = append(calls, mcp.Call{Tool: "ask", Args: map[string]any{"question": q}})
	}
	for _, id := range ids {
		calls = append(calls, mcp.Call{Tool: "explain_decision", Args: map[string]any{"decision": id}})
	}
	if err := mcp.Probe(ctx, run, calls, func(tool, text string) { look("the tool "+tool, text) }); err != nil {
		complain("%v", err)
	}
}

package attack

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gridbid/gridbid/coordinator/follow"
	"github.com/gridbid/gridbid/coordinator/mcp"
)

// tools asks a run through the Model Context Protocol, by the official client,
// and looks at what it gets. A tool that does not say that it only reads is
// complained of.
func tools(ctx context.Context, run *follow.Run, complain func(string, ...any), look func(where, text string), questions, ids []string) {
	here, there := sdk.NewInMemoryTransports()
	serving, err := mcp.New(run, "attacked").Connect(ctx, there, nil)
	if err != nil {
		complain("the tools: %v", err)
		return
	}
	defer serving.Close()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "attacker"}, nil).Connect(ctx, here, nil)
	if err != nil {
		complain("the tools: %v", err)
		return
	}
	defer client.Close()
	all, err := client.ListTools(ctx, nil)
	if err != nil || len(all.Tools) == 0 {
		complain("the tools cannot be listed: %v", err)
		return
	}
	for _, t := range all.Tools {
		if t.Annotations == nil || !t.Annotations.ReadOnlyHint {
			complain("the tool %s writes", t.Name)
		}
	}
	call := func(tool string, args map[string]any) {
		r, err := client.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil { // the protocol's own refusal of what it was given
			look("the tools' error", err.Error())
			return
		}
		for _, c := range r.Content {
			if t, ok := c.(*sdk.TextContent); ok {
				look("the tool "+tool, t.Text)
			}
		}
	}
	for _, q := range questions {
		call("ask", map[string]any{"question": q})
	}
	for _, id := range ids {
		call("explain_decision", map[string]any{"decision": id})
	}
	call("list_decisions", map[string]any{"limit": 200})
	call("queue", map[string]any{})
}

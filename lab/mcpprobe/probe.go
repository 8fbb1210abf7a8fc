// Package mcpprobe calls the tools that explain/mcp serves, through the official client, for what attacks and
// measures them.
package mcpprobe

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/timeline/tail"
)

// A Call is one call of a tool.
type Call struct {
	Tool string
	Args map[string]any
}

// CallTools calls tools of a run through the official client, and passes the text of each
// result to look, also that of an error. It fails if a tool is not annotated as read-only.
func CallTools(ctx context.Context, run *tail.Run, calls []Call, look func(tool, text string)) error {
	here, there := sdk.NewInMemoryTransports()
	serving, err := mcp.New(run, "probe", nil).Connect(ctx, there, nil)
	if err != nil {
		return fmt.Errorf("mcpprobe: %w", err)
	}
	defer serving.Close()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "probe"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return fmt.Errorf("mcpprobe: %w", err)
	}
	defer client.Close()
	all, err := client.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("mcpprobe: %w", err)
	}
	for _, t := range all.Tools {
		if t.Annotations == nil || !t.Annotations.ReadOnlyHint {
			return fmt.Errorf("mcpprobe: tool %s is not annotated as read-only", t.Name)
		}
	}
	for _, c := range calls {
		r, err := client.CallTool(ctx, &sdk.CallToolParams{Name: c.Tool, Arguments: c.Args})
		if err != nil { // the protocol's own refusal of what it was given
			look(c.Tool, err.Error())
			continue
		}
		for _, part := range r.Content {
			if t, ok := part.(*sdk.TextContent); ok {
				look(c.Tool, t.Text)
			}
		}
	}
	return nil
}

// Runs zot's own session code: one order per line comes in, one answer goes out. Built inside zot's module.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"PEER/internal/core"
	"PEER/internal/provider"
)

type order struct {
	Verb, Root, Cwd, Path, Text string
}

type answer struct {
	Error    string             `json:"error,omitempty"`
	Path     string             `json:"path,omitempty"`
	Paths    []string           `json:"paths,omitempty"`
	Meta     core.SessionMeta   `json:"meta"`
	Messages []provider.Message `json:"messages"`
	Title    string             `json:"title"`
	Count    int                `json:"count"`
	Cost     float64            `json:"cost"`
}

var live *core.Session // the session that this process has created or resumed, as a running zot holds it

func obey(o order) (a answer, err error) {
	switch o.Verb {
	case "create":
		if live, err = core.NewSession(o.Root, o.Cwd, "anthropic", "claude-sonnet-4-5", "0"); err == nil {
			a.Path = live.Path
		}
	case "resume":
		live, a.Messages, err = core.OpenSession(o.Path)
	case "say":
		content := []provider.Content{provider.TextBlock{Text: o.Text}}
		err = live.AppendMessage(provider.Message{Role: provider.RoleUser, Content: content, Time: time.Now()})
	case "close":
		err = live.Close()
	case "look":
		var seen *core.Session
		if seen, a.Messages, err = core.OpenSession(o.Path); err == nil {
			a.Meta = seen.Meta
			seen.Close()
			for _, row := range core.DescribeSessions(o.Root, o.Cwd) {
				if row.Path == o.Path {
					a.Title, a.Count, a.Cost = row.Title, row.MessageCount, row.TotalCost
				}
			}
		}
	case "sweep":
		core.PruneEmptySessions(o.Root, o.Cwd)
		a.Paths = core.ListSessions(o.Root, o.Cwd)
	}
	return a, err
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<16), 1<<26)
	for lines.Scan() {
		var o order
		err := json.Unmarshal(lines.Bytes(), &o)
		var a answer
		if err == nil {
			a, err = obey(o)
		}
		if err != nil {
			a.Error = err.Error()
		}
		line, _ := json.Marshal(a)
		fmt.Println(string(line))
	}
}

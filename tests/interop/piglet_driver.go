// Runs piglet's own session code: one order per line comes in, one answer goes out. Built inside piglet's module.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"PEER/core"
	"PEER/session"
)

type order struct {
	Verb, Path, Directory string
}

type said struct {
	Role    string       `json:"role"`
	Message core.Message `json:"message"`
}

type answer struct {
	Error    string              `json:"error,omitempty"`
	Meta     session.Meta        `json:"meta"`
	Leaf     string              `json:"leaf"`
	Branch   []session.EntryInfo `json:"branch"`
	Tree     []session.TreeNode  `json:"tree"`
	Labels   map[string]string   `json:"labels"`
	Messages []said              `json:"messages"`
	Listed   []session.Summary   `json:"listed"`
}

func role(message core.Message) string {
	switch message.(type) {
	case *core.UserMessage:
		return "user"
	case *core.AssistantMessage:
		return "assistant"
	case *core.ToolResultMessage:
		return "tool_result"
	}
	return ""
}

func obey(o order) (a answer, err error) {
	if o.Verb == "list" {
		a.Listed, err = session.List(o.Directory)
		return a, err
	}
	seen, err := session.Open(o.Path)
	if err != nil {
		return a, err
	}
	defer seen.Close()
	a.Meta, a.Leaf, a.Branch, a.Tree = seen.Meta(), seen.LeafID(), seen.EntryInfos(), seen.FullTree()
	a.Labels = map[string]string{}
	for _, node := range a.Tree {
		if node.Label != "" {
			a.Labels[node.ID] = node.Label
		}
	}
	for _, message := range seen.Messages() {
		a.Messages = append(a.Messages, said{role(message), message})
	}
	return a, nil
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

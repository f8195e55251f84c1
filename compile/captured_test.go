package compile_test

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cotalctl/cotalctl/compile"
	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestCapturedBinds: a subject of a stream that does not bind is an error at the resource, wherever what the stream stores is asked
// for, and not one subject fewer.
func TestCapturedBinds(t *testing.T) {
	t.Parallel()
	c := loadOver(t, &txtar.Archive{})
	topology, _ := c.Topology("")
	space := func() *compile.Scope {
		s, err := compile.NewScope(c, topology, nil, compile.Input{Values: map[string]any{"space": "main"}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	_, before, err := space().Captured("CHAT")
	if err != nil || len(before) == 0 {
		t.Fatalf("got %v, %v, want the subjects of the stream", before, err)
	}
	chat := c.Resources["CHAT"]
	chat.Subjects = append(chat.Subjects, template(t, "{P}.{owner}.x"))
	if _, got, err := space().Captured("CHAT"); err == nil || !strings.HasPrefix(err.Error(), chat.Pos.String()+": resource CHAT: ") {
		t.Errorf("got %v, %v, want an error at the resource", got, err)
	}
	c.Rows = []*contract.Row{{ID: "R", Profiles: []string{"agent"}, Op: contract.Op{Kind: contract.OpAPI, Subject: template(t, "CONSUMER.MSG.NEXT.>")}}}
	c.Resources = map[string]*contract.Resource{"CHAT": chat}
	chat.Subjects = append(chat.Subjects, template(t, "{P}.{nobody}.x"))
	s, err := compile.NewScope(c, topology, c.Profiles["agent"], compile.Input{Values: map[string]any{
		"space": "main", "owner": owner, "actor": "alice", "uid": uid, "role": "boss", "allowPublish": []any{"x"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compile.Compile(s, ""); err == nil || !strings.Contains(err.Error(), "resource CHAT: placeholder {nobody}") {
		t.Errorf("got %v, want the subject that does not bind", err)
	}
}

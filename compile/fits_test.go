package compile

import (
	"testing"

	"github.com/cotalctl/cotalctl/internal/contract"
	"github.com/cotalctl/cotalctl/matrix"
)

func TestFits(t *testing.T) {
	c, err := matrix.Embedded("cotal-v0.5")
	if err != nil {
		t.Fatal(err)
	}
	const (
		owner = "u_abcdefghijklmnopqrstuvwxyz"
		uid   = "0123456789abcdefghijklmnop"
	)
	agent, reader := c.Profiles["agent"], c.Records["reader"].Cases["record"]
	var subtree *contract.Type
	for _, f := range reader {
		if f.Name == "subtree" {
			subtree = f.Type
		}
	}
	scalar := func(grammar string) *contract.Type {
		return &contract.Type{Kind: contract.TypeScalar, Grammar: c.Grammars[grammar]}
	}
	mine := map[string]string{"owner": owner, "actor": "ann", "uid": uid}
	for _, x := range []struct {
		what   string
		typ    *contract.Type
		text   string
		holder map[string]string
		want   bool
	}{
		{"grammar", scalar("pool"), "gpu", nil, true},
		{"not of the grammar", scalar("pool"), "g_u", nil, false},
		{"boolean", &contract.Type{Kind: contract.TypeBool}, "true", nil, true},
		{"no boolean", &contract.Type{Kind: contract.TypeBool}, "yes", nil, false},
		{"enumeration", &contract.Type{Kind: contract.TypeEnum, Enum: []string{"a"}}, "a", nil, true},
		{"not in it", &contract.Type{Kind: contract.TypeEnum, Enum: []string{"a"}}, "b", nil, false},
		{"a list is no text", &contract.Type{Kind: contract.TypeList, Elem: scalar("pool")}, "gpu", nil, false},
		{"a kind", &contract.Type{Kind: contract.TypeMember, Of: "kinds"}, "goal", nil, true},
		{"no kind", &contract.Type{Kind: contract.TypeMember, Of: "kinds"}, "golf", nil, false},
		{"subtree of nobody", subtree, "svc.>", mine, true},
		{"own subtree", subtree, "goal.manager." + owner + ".ann." + uid + ".>", mine, true},
		{"another's subtree", subtree, "goal.manager." + owner + ".bob." + uid + ".>", mine, false},
		{"everybody's subtree", subtree, "goal.>", mine, false},
		{"whoever's subtree", subtree, "goal.manager." + owner + ".bob." + uid + ".>", nil, true},
		{"whoever has this uid", subtree, "goal.manager." + owner + ".bob." + uid + ".>", map[string]string{"uid": uid}, true},
		{"whoever has another uid", subtree, "goal.manager." + owner + ".bob." + uid + ".>", map[string]string{"uid": "z" + uid[1:]}, false},
		{"everybody's, of nobody stated", subtree, "goal.manager." + owner + ".*." + uid + ".>", nil, false},
		{"a kind that decides", subtree, "lease.>", mine, false},
	} {
		if got := Fits(c, agent, x.typ, x.text, x.holder); got != x.want {
			t.Errorf("%s: %q fits, got %v, want %v", x.what, x.text, got, x.want)
		}
	}
}

package subject_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/cotalctl/cotalctl/internal/natstest"
	"github.com/cotalctl/cotalctl/internal/subject"
)

// TestDirections: a present, empty pub.allow beside a deny denies all publishing; the same under sub does not. jwt/v2 leaves empty
// lists out, so the claims are written here.
func TestDirections(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	login := func(pub, sub subject.Texts) *natstest.Raw {
		return s.Raw(t, s.Account.Rewrite(t, s.User(t, jwt.Permissions{}), func(nats map[string]any) {
			nats["pub"], nats["sub"] = claim(pub), claim(sub)
		}))
	}
	type row struct{ Lists, Publish, Subscribe string }
	empty, deny := []string{}, []string{"z"}
	for _, c := range []struct {
		pub, sub subject.Texts
		want     row
	}{
		{subject.Texts{}, subject.Texts{}, row{"absent", ok, ok}},
		{subject.Texts{Allow: empty, Deny: deny}, subject.Texts{}, row{"pub empty allow", refused, ok}},
		{subject.Texts{Allow: empty, Deny: empty}, subject.Texts{}, row{"pub both empty", ok, ok}},
		{subject.Texts{Deny: deny}, subject.Texts{}, row{"pub deny only", ok, ok}},
		{subject.Texts{}, subject.Texts{Allow: empty, Deny: deny}, row{"sub empty allow", ok, ok}},
		{subject.Texts{}, subject.Texts{Deny: []string{">"}}, row{"sub none", ok, refused}},
	} {
		reply := login(c.pub, c.sub).Do(natstest.PubOp("a", "", ""), natstest.SubOp("a", "", "1"))
		live := row{c.want.Lists, answer(reply[0].Errs), answer(reply[1].Errs)}
		model, _ := subject.Read(c.pub, c.sub)
		said := row{c.want.Lists, modelAnswer(model.CanPublish("a")), modelAnswer(model.CanSubscribe("a", ""))}
		if diff := cmp.Diff([]row{c.want, c.want}, []row{live, said}); diff != "" {
			t.Errorf("broker and model (-want +got):\n%s", diff)
		}
	}
}

// claim is one direction as claims hold it: nil is absent, empty is present.
func claim(x subject.Texts) map[string]any {
	out := map[string]any{}
	if x.Allow != nil {
		out["allow"] = x.Allow
	}
	if x.Deny != nil {
		out["deny"] = x.Deny
	}
	return out
}

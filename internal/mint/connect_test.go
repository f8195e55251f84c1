package mint

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/cotalctl/cotalctl/internal/contract"
)

// TestConnectLine compares with the bytes that nats.go really sends to a listener that speaks INFO.
func TestConnectLine(t *testing.T) {
	if nats.Version != natsGoVersion {
		t.Fatalf("nats.go, got %s, want %s: measure the CONNECT line anew", nats.Version, natsGoVersion)
	}
	issuer, _ := counted(t)
	cred, err := issuer.Mint(request())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"", "worker-1", `a "b" <é>`}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			const nonce = "bm9uY2U"
			sent := captureConnect(t, cred, name, nonce)
			want, err := cred.ConnectLine(name, []byte(nonce))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(sent), string(want)); diff != "" {
				t.Errorf("CONNECT line (-nats.go +mint):\n%s", diff)
			}
			operand := strings.TrimSuffix(strings.TrimPrefix(string(sent), "CONNECT "), "\r\n")
			if got := cred.ConnectBytes(name); got != len(operand) {
				t.Errorf("connect bytes, got %d, want %d", got, len(operand))
			}
		})
	}
	if got := cred.ConnectBytes("") - len(cred.JWT); got != contract.ConnectOverhead {
		t.Errorf("bytes beside the JWT, got %d, want %d", got, contract.ConnectOverhead)
	}
}

// captureConnect plays the server up to the CONNECT line of one client.
func captureConnect(t *testing.T, cred *Credential, name, nonce string) []byte {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	lines := make(chan []byte, 1)
	go func() {
		defer close(lines)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, `INFO {"server_id":"S","version":"2.15.3","proto":1,"headers":true,"auth_required":true,"nonce":%q,"max_payload":1048576}`+"\r\n", nonce)
		line, err := bufio.NewReader(conn).ReadBytes('\n')
		if err == nil {
			lines <- line
		}
	}()
	creds, err := cred.Creds()
	if err != nil {
		t.Fatal(err)
	}
	options := []nats.Option{nats.UserCredentialBytes(creds)}
	if name != "" {
		options = append(options, nats.Name(name))
	}
	nc, err := nats.Connect("nats://"+listener.Addr().String(), options...)
	if err == nil {
		nc.Close()
		t.Error("the listener passed for a server")
	}
	line, ok := <-lines
	if !ok {
		t.Fatal("no CONNECT line was sent")
	}
	return line
}

// TestWithoutSeed mints for a key that the caller does not hold: the same JWT, and no form that needs the key.
func TestWithoutSeed(t *testing.T) {
	issuer, _ := counted(t)
	r := request()
	held, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	r.UserSeed, r.UserPublic = nil, held.PublicKey
	c, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	if c.JWT != held.JWT || c.HasSeed() || !held.HasSeed() {
		t.Errorf("credential of the public key, got another JWT or a seed")
	}
	if c.ConnectBytes("x") != held.ConnectBytes("x") {
		t.Errorf("connect bytes, got %d, want %d", c.ConnectBytes("x"), held.ConnectBytes("x"))
	}
	want := (&contract.Problem{What: "credential of " + c.PublicKey, Got: "no user key", Want: "one that was minted from a seed"}).Error()
	if _, err := c.Creds(); fmt.Sprint(err) != want {
		t.Errorf("creds, got %v, want %s", err, want)
	}
	if _, err := c.ConnectLine("x", nil); fmt.Sprint(err) != want {
		t.Errorf("connect line, got %v, want %s", err, want)
	}
}

func TestReadCreds(t *testing.T) {
	issuer, _ := counted(t)
	good, other := credsText(t, issuer, 7), credsText(t, issuer, 8)
	jwtPart, seedPart := good[:bytes.Index(good, []byte("****"))], good[bytes.Index(good, []byte("****")):]
	otherSeed := other[bytes.Index(other, []byte("****")):]
	accountSeed, _, _ := accountKey(t, 1)
	seedLine := bytes.Split(seedPart, []byte("\n"))[5]
	replace := func(old, new string) []byte { return bytes.ReplaceAll(good, []byte(old), []byte(new)) }
	cases := map[string]struct {
		data []byte
		want Fault
	}{
		"empty":              {nil, FaultEmpty},
		"prose":              {[]byte("nothing here\n"), FaultEmpty},
		"jwt alone":          {jwtPart, FaultNoSeed},
		"seed alone":         {seedPart, FaultNoJWT},
		"bare jwt":           {bytes.Split(jwtPart, []byte("\n"))[1], FaultStray},
		"bare seed":          {seedLine, FaultStray},
		"cut in the jwt":     {good[:200], FaultTruncated},
		"cut after begin":    {good[:len(credsJWT)], FaultTruncated},
		"cut in the seed":    {good[:len(good)-120], FaultTruncated},
		"no end":             {replace("------END USER NKEY SEED------", ""), FaultTruncated},
		"wrong end":          {replace("END NATS USER JWT", "END NATS ACCOUNT JWT"), FaultTruncated},
		"two lines of seed":  {replace(string(seedLine), string(seedLine)+"\n"+string(seedLine)), FaultTruncated},
		"account jwt":        {replace("NATS USER JWT", "NATS ACCOUNT JWT"), FaultStray},
		"two users":          {append(bytes.Clone(good), other...), FaultTwoUsers},
		"two jwts":           {append(bytes.Clone(jwtPart), good...), FaultTwoUsers},
		"other seed":         {append(bytes.Clone(jwtPart), otherSeed...), FaultMismatch},
		"account seed":       {replace(string(seedLine), string(accountSeed)), FaultSeed},
		"damaged seed":       {replace(string(seedLine), string(seedLine[:30])+"AAAA"+string(seedLine[34:])), FaultSeed},
		"damaged signature":  {replace("\n------END NATS", "A\n------END NATS"), FaultJWT},
		"seed behind":        {append(bytes.Clone(good), seedLine...), FaultStray},
		"no newline at end":  {bytes.TrimSpace(good), ""},
		"carriage returns":   {replace("\n", "\r\n"), ""},
		"nsc's older dashes": {replace("-----BEGIN", "---BEGIN"), ""},
		"good":               {good, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			parsed, err := ReadCreds(c.data)
			if c.want == "" {
				if err != nil || parsed.Claims.Name != "w1" {
					t.Fatalf("read: %v", err)
				}
				return
			}
			refused, ok := err.(*CredsError)
			if !ok || refused.Fault != c.want {
				t.Fatalf("error, got %v, want fault %s", err, c.want)
			}
			text := err.Error() + refused.cause.Hint
			if strings.Contains(text, "\n") || strings.Contains(text, "eyJ") || strings.Contains(text, string(seedLine[:12])) {
				t.Errorf("message has several lines or quotes the file")
			}
		})
	}
}

func credsText(t *testing.T, issuer *Issuer, n byte) []byte {
	t.Helper()
	r := request()
	r.UserSeed = material(n)
	c, err := issuer.Mint(r)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := c.Creds()
	if err != nil {
		t.Fatal(err)
	}
	return creds
}

func FuzzReadCreds(f *testing.F) {
	f.Add([]byte(credsJWT + "eyJ" + credsSeed + "SU" + credsEnd))
	f.Add([]byte("-----BEGIN NATS USER JWT-----\n\n-----END"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := ReadCreds(data); err != nil {
			if _, ok := err.(*CredsError); !ok {
				t.Errorf("error of type %T", err)
			}
		}
	})
}

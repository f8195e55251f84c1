package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

const (
	connectionsPing = "$SYS.REQ.SERVER.PING.CONNZ"

	pageSize = 64 // connections in one answer: each carries its whole JWT
)

// LiveUser is who is connected to an account.
type LiveUser struct {
	User, Issuer      string // public keys: of the user, and of the key that signed it
	Name              string
	Tags              []string
	IssuedAt, Expires int64 // Unix seconds; 0: not known, or none
}

// connections is one server's answer.
type connections struct {
	Data *struct {
		Total       int `json:"total"`
		Connections []struct {
			JWT    string   `json:"jwt"`
			Issuer string   `json:"issuer_key"`
			User   string   `json:"authorized_user"`
			Name   string   `json:"name_tag"`
			Tags   []string `json:"tags"`
		} `json:"connections"`
	} `json:"data"`
	Error *struct {
		Description string `json:"description"`
	} `json:"error"`
}

// LiveUsers asks each of so many servers who is connected to an account, over a connection in the system account that may
// publish the request. A user with several connections is named as often.
func LiveUsers(ctx context.Context, nc *nats.Conn, account string, servers int) ([]LiveUser, error) {
	ctx, cancel := context.WithTimeout(ctx, nc.Opts.Timeout)
	defer cancel()
	var out []LiveUser
	for offset, more := 0, true; more; offset += pageSize {
		more = false
		body, err := json.Marshal(map[string]any{"auth": true, "acc": account, "limit": pageSize, "offset": offset})
		if err != nil {
			return nil, err
		}
		missing := max(1, servers)
		err = answers(ctx, nc, connectionsPing, body, func(msg *nats.Msg) (bool, error) {
			var page connections
			if err := json.Unmarshal(msg.Data, &page); err != nil {
				return false, fmt.Errorf("answer: %w", err)
			}
			switch {
			case page.Error != nil:
				return false, fmt.Errorf("server refused: %s", page.Error.Description)
			case page.Data == nil:
				return false, errors.New("answer, got neither connections nor an error, want one")
			}
			for _, c := range page.Data.Connections {
				user := LiveUser{User: c.User, Issuer: c.Issuer, Name: c.Name, Tags: c.Tags}
				if u, err := jwt.DecodeUserClaims(c.JWT); err == nil {
					user = LiveUser{User: u.Subject, Issuer: u.Issuer, Name: u.Name, Tags: u.Tags, IssuedAt: u.IssuedAt, Expires: u.Expires}
				}
				out = append(out, user)
			}
			n := len(page.Data.Connections)
			more = more || n > 0 && offset+n < page.Data.Total
			missing--
			return missing == 0, nil
		})
		if err != nil {
			return nil, fmt.Errorf("connections of account %s: %w", account, err)
		}
	}
	return out, nil
}

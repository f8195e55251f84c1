package doctor

import (
	"encoding/json"
	"time"
)

// SubjectUserInfo asks the server of the connection, and no other, for its own view of the user.
const SubjectUserInfo = "$SYS.REQ.USER.INFO"

// User is a broker's view of the doctor's credential.
type User struct {
	Account string        `json:"account"`    // public key
	Publish []string      `json:"publish"`    // allowed subjects, sorted; empty: all
	Expires time.Duration `json:"expires_ns"` // from now; 0: never
}

func (u *User) decode(_ Server, data []byte) string {
	var d struct {
		Account     string        `json:"account"`
		Expires     time.Duration `json:"expires"`
		Permissions *struct {
			Publish *struct {
				Allow []string `json:"allow"`
			} `json:"publish"`
		} `json:"permissions"`
	}
	if err := json.Unmarshal(data, &d); err != nil || d.Account == "" {
		return "USER.INFO data names no account"
	}
	*u = User{Account: d.Account, Expires: d.Expires, Publish: []string{}}
	if d.Permissions != nil && d.Permissions.Publish != nil {
		u.Publish = sortedSet(d.Permissions.Publish.Allow)
	}
	return ""
}

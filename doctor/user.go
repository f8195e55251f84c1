package doctor

import "encoding/json"

// SubjectUserInfo asks the server of the connection, and no other, for its own view of the user.
const SubjectUserInfo = "$SYS.REQ.USER.INFO"

// User is a broker's view of the doctor's credential.
type User struct {
	Account string `json:"account"` // public key
}

func (u *User) decode(_ Server, data []byte) string {
	var d User
	if err := json.Unmarshal(data, &d); err != nil || d.Account == "" {
		return "USER.INFO data names no account"
	}
	*u = d
	return ""
}

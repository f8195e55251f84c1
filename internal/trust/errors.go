package trust

import "errors"

// Sentinels on which callers branch.
var (
	// ErrNotMade: no space directory exists at the path.
	ErrNotMade = errors.New("no space directory")
	// ErrNotFound: the directory is good, the space, account or credential is not in it.
	ErrNotFound = errors.New("not found")
	// ErrNotLocked: an edit was tried without holding the lock of the directory.
	ErrNotLocked = errors.New("directory is not locked for editing")
	// ErrLocked: another process holds a lock of the directory.
	ErrLocked = errors.New("directory is in use")
)

// hinted is an error with a line that says what to do next.
type hinted struct {
	err  error
	hint string
}

func withHint(err error, hint string) error { return &hinted{err: err, hint: hint} }

// Error says what is wrong, without the hint.
func (e *hinted) Error() string { return e.err.Error() }

// Hint says what to do next.
func (e *hinted) Hint() string { return e.hint }

// Unwrap returns the error without its hint.
func (e *hinted) Unwrap() error { return e.err }

// HintOf returns the hint that err carries, or "".
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

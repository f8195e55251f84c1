package profiles

import (
	"embed"
	"io/fs"
)

//go:embed */*.yaml
var embedded embed.FS

// FS returns the embedded profile files of the named contract, or an error where it has none.
func FS(name string) (fs.FS, error) {
	if _, err := fs.Stat(embedded, name); err != nil {
		return nil, err
	}
	return fs.Sub(embedded, name)
}
